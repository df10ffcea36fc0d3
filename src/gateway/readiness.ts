import type { Answer } from '../protocol/backend.ts';
import type { RemoteBackend } from './backends/remote-backend.ts';
import type { Gateway, ReadinessPart } from './gateway.ts';
import type { Sample } from './telemetry/metrics.ts';
import type { Shadow } from './shadow.ts';
import type { Received } from './decision/steps.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Principal } from '../protocol/principal.ts';
import { SnapshotPermit } from './decision/permit.ts';
import { circumstancesOf } from '../policy/conditions/circumstances.ts';

type State = 'ok' | 'degraded' | 'unavailable';

/** A part as `/readyz` reports it. */
interface Looked {
  readonly part: string;
  readonly status: State;
  readonly why?: string;
}

/** Whether requests can be served. Failing parts and reasons are shown only to callers with `manage`. */
export async function readiness(gateway: Gateway, received: Received): Promise<Answer> {
  const parts = await Promise.all(partsOf(gateway).map(look));
  const status = worst(parts);
  const body = (await mayManage(gateway, received)) ? { status, parts } : { status };
  return {
    status: status === 'unavailable' ? 503 : 200,
    contentType: 'application/json',
    body: JSON.stringify(body),
  };
}

/** The same as values of a metric. */
export async function readinessSamples(gateway: Gateway): Promise<readonly Sample[]> {
  const parts = await Promise.all(partsOf(gateway).map(look));
  return parts.map(({ part, status }) => ({ labels: { part }, value: status === 'ok' ? 1 : 0 }));
}

/** Every part there is. */
function partsOf(gateway: Gateway): readonly ReadinessPart[] {
  const {
    policy,
    shadow,
    quota,
    keys,
    tokens,
    recorder,
    backend,
    remotes = [],
    drain,
    parts = [],
  } = gateway;
  return [
    { part: 'policy', without: 'degraded', fault: () => policy.refused() ?? policy.weakness?.() },
    ...(shadow === undefined ? [] : [shadowPart(shadow)]),
    { part: 'limits', without: 'degraded', fault: () => quota.fault() },
    { part: 'keys', without: 'degraded', fault: () => keys.fault },
    { part: 'issuers', without: 'degraded', fault: () => tokens.fault() },
    { part: 'audit', without: 'unavailable', fault: () => recorder.fault() },
    { part: 'checkpoints', without: 'degraded', fault: () => recorder.weakness() },
    { part: backend.name, without: 'unavailable', fault: () => backend.health() },
    {
      part: 'durability',
      without: 'degraded',
      fault: () => backend.weakness().catch(() => undefined),
    },
    ...remotes.map(remotePart),
    ...parts,
    {
      part: 'gateway',
      without: 'unavailable',
      fault: () => (drain.stopping ? 'the gateway is stopping' : undefined),
    },
  ];
}

/** A shadow policy decides nothing, so its faults only degrade. */
function shadowPart(shadow: Shadow): ReadinessPart {
  return { part: 'shadow', without: 'degraded', fault: () => shadow.fault() };
}

/** A remote backend that is unavailable takes its tables with it, and nothing else. That it is not trusted with everything is no fault. */
function remotePart(remote: RemoteBackend): ReadinessPart {
  return {
    part: remote.name,
    without: 'degraded',
    fault: () => remote.health(),
    remark: () =>
      remote.distrust === undefined
        ? undefined
        : `gets only operations that need no trust: ${remote.distrust}`,
  };
}

async function look({ part, without, fault, remark }: ReadinessPart): Promise<Looked> {
  const why = await fault();
  if (why !== undefined) return { part, status: without, why };
  const said = remark?.();
  return { part, status: 'ok', ...(said !== undefined && { why: said }) };
}

function worst(parts: readonly Looked[]): State {
  const states = parts.map((each) => each.status);
  if (states.includes('unavailable')) return 'unavailable';
  return states.includes('degraded') ? 'degraded' : 'ok';
}

/** Whether a request carries a credential with the right to manage everything. */
async function mayManage(gateway: Gateway, received: Received): Promise<boolean> {
  try {
    return manages(gateway, received, await gateway.identification.principalOf(received));
  } catch (error) {
    if (error instanceof CatalogError) return false;
    throw error;
  }
}

/** @throws CatalogError Unauthenticated, as `Identification.principalOf` does; PermissionDenied */
export async function requireManage(gateway: Gateway, received: Received): Promise<void> {
  const principal = await gateway.identification.principalOf(received);
  if (manages(gateway, received, principal)) return;
  throw new CatalogError('PermissionDenied', `${principal.subject} may not manage the gateway`);
}

function manages(gateway: Gateway, received: Received, principal: Principal): boolean {
  const policy = gateway.policy.current();
  return new SnapshotPermit(
    policy,
    principal,
    received.decisionId,
    circumstancesOf(received),
    null,
  ).holds('manage', []);
}
