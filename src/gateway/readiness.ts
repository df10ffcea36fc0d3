import type { Answer } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Principal } from '../protocol/principal.ts';
import type { RemoteBackend } from './backends/remote-backend.ts';
import type { Gateway } from './gateway.ts';
import { SnapshotPermit } from './permit.ts';
import { circumstancesOf } from './surroundings.ts';
import type { Received } from './steps.ts';

type State = 'ok' | 'degraded' | 'unavailable';

/** One thing the gateway cannot do without, or can do without for a while. */
interface Part {
  readonly part: string;
  readonly status: State;
  readonly why?: string;
}

/** Whether requests can be served. Which part cannot, and why, is told only to those with `manage`. */
export async function readiness(gateway: Gateway, received: Received): Promise<Answer> {
  const parts = await partsOf(gateway);
  const status = worst(parts);
  const told = (await mayManage(gateway, received)) ? { status, parts } : { status };
  return {
    status: status === 'unavailable' ? 503 : 200,
    contentType: 'application/json',
    body: JSON.stringify(told),
  };
}

async function partsOf(gateway: Gateway): Promise<readonly Part[]> {
  return [
    part('policy', 'degraded', gateway.policy.refused()),
    part('limits', 'degraded', gateway.quota.fault()),
    part('keys', 'degraded', gateway.keys.fault),
    part('issuers', 'degraded', gateway.tokens.fault()),
    part('audit', 'unavailable', gateway.recorder.fault()),
    part('checkpoints', 'degraded', gateway.recorder.weakness()),
    part(gateway.backend.name, 'unavailable', await gateway.backend.health()),
    ...(await Promise.all((gateway.remotes ?? []).map(remotePart))),
    part('durability', 'degraded', await gateway.backend.weakness().catch(() => undefined)),
    part('gateway', 'unavailable', gateway.drain.stopping ? 'the gateway is stopping' : undefined),
  ];
}

function part(name: string, without: State, why: string | undefined): Part {
  return why === undefined ? { part: name, status: 'ok' } : { part: name, status: without, why };
}

/** A remote backend that is away takes its tables with it, and nothing else. That it is not trusted with everything is no fault. */
async function remotePart(remote: RemoteBackend): Promise<Part> {
  const found = part(remote.name, 'degraded', await remote.health());
  const { distrust } = remote;
  if (found.why !== undefined || distrust === undefined) return found;
  return { ...found, why: `gets only what needs no trust: ${distrust}` };
}

function worst(parts: readonly Part[]): State {
  const states = parts.map((each) => each.status);
  if (states.includes('unavailable')) return 'unavailable';
  return states.includes('degraded') ? 'degraded' : 'ok';
}

async function mayManage(gateway: Gateway, received: Received): Promise<boolean> {
  const principal = await identified(gateway, received);
  if (principal === undefined) return false;
  const policy = gateway.policy.current();
  return new SnapshotPermit(
    policy,
    principal,
    received.decisionId,
    circumstancesOf(received),
  ).holds('manage', []);
}

async function identified(gateway: Gateway, received: Received): Promise<Principal | undefined> {
  try {
    return await gateway.identification.principalOf(received);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}
