import type { Gateway } from '../gateway/gateway.ts';
import { keyState, type StoredKey } from '../gateway/identity/keys.ts';
import type { KeyAccess } from './keys.ts';
import type { Trail } from './trail/trail.ts';

/** The policy of a gateway of the catalog. */
export interface GatewayPolicy {
  readonly gateway: string;
  readonly digest: string;
  /** Whether it is the gateway that answers. */
  readonly own: boolean;
}

/** What the console knows of the service besides its log. */
export interface ServiceFacts {
  readonly gateways: () => readonly GatewayPolicy[];
  /** When the certificate of the listener ends; undefined without TLS. */
  readonly certificateEnds: () => Date | undefined;
}

interface AttentionCall {
  readonly gateway: Pick<Gateway, 'keys'>;
  readonly trail: Trail;
  readonly keys: KeyAccess;
  readonly facts: ServiceFacts;
}

/** Keys and certificates that end within this time need attention, in ms. */
const SOON_MILLIS = 14 * 86_400_000;
/** Keys that are named. */
const MOST_KEYS = 20;

/** Whatever needs attention and is not a part of readiness. */
export async function attention({ trail, keys, facts }: AttentionCall): Promise<object> {
  const now = new Date();
  const [stored, log] = await Promise.all([
    keys.book.read(),
    trail.run({ kind: 'attention', now: now.getTime() }),
  ]);
  const ends = facts.certificateEnds();
  return {
    gateways: facts.gateways(),
    keys_ending: named(stored.filter((key) => endsSoon(key, now))),
    keys_frozen: named(stored.filter((key) => keyState(key, now) === 'frozen')),
    certificate_ends: ends !== undefined && isSoon(ends, now) ? ends.toISOString() : null,
    ...(JSON.parse(log) as object),
  };
}

function endsSoon(key: StoredKey, now: Date): boolean {
  const { expires } = key;
  return expires !== null && keyState(key, now) === 'active' && isSoon(new Date(expires), now);
}

function isSoon(end: Date, now: Date): boolean {
  return end.getTime() - now.getTime() < SOON_MILLIS;
}

function named(keys: readonly StoredKey[]): readonly object[] {
  return keys.slice(0, MOST_KEYS).map(({ id, subject, expires }) => ({ id, subject, expires }));
}
