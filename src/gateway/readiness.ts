import type { Answer } from '../protocol/backend.ts';
import type { Gateway } from './gateway.ts';
import { mayManage } from './may-manage.ts';
import type { Sample } from './metrics.ts';
import type { ReadinessPart } from './readiness-part.ts';
import type { Received } from './steps.ts';

type State = 'ok' | 'degraded' | 'unavailable';

/** A part as it is told. */
interface Looked {
  readonly part: string;
  readonly status: State;
  readonly why?: string;
}

/** Whether requests can be served. Which part cannot, and why, is told only to those with `manage`. */
export async function readiness(gateway: Gateway, received: Received): Promise<Answer> {
  const parts = await Promise.all(partsOf(gateway).map(look));
  const status = worst(parts);
  const told = (await mayManage(gateway, received)) ? { status, parts } : { status };
  return {
    status: status === 'unavailable' ? 503 : 200,
    contentType: 'application/json',
    body: JSON.stringify(told),
  };
}

/** The same as values of a metric. */
export async function readinessSamples(gateway: Gateway): Promise<readonly Sample[]> {
  const parts = await Promise.all(partsOf(gateway).map(look));
  return parts.map(({ part, status }) => ({ labels: { part }, value: status === 'ok' ? 1 : 0 }));
}

/** Every part there is. */
function partsOf(gateway: Gateway): readonly ReadinessPart[] {
  const { policy, keys, tokens, recorder, backend, drain, parts = [] } = gateway;
  return [
    { part: 'policy', without: 'degraded', fault: () => policy.refused() },
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
    ...parts,
    {
      part: 'gateway',
      without: 'unavailable',
      fault: () => (drain.stopping ? 'the gateway is stopping' : undefined),
    },
  ];
}

async function look({ part, without, fault }: ReadinessPart): Promise<Looked> {
  const why = await fault();
  return why === undefined ? { part, status: 'ok' } : { part, status: without, why };
}

function worst(parts: readonly Looked[]): State {
  const states = parts.map((each) => each.status);
  if (states.includes('unavailable')) return 'unavailable';
  return states.includes('degraded') ? 'degraded' : 'ok';
}
