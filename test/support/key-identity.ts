import type { KeyIdentity, KeyRing } from '../../src/gateway/identity/key-ring.ts';
import { isAvailable } from '../../src/protocol/maybe-promise.ts';

/** The identity of a credential under a small keys file, which is read at once. */
export function identityBy(ring: KeyRing, text: string, connection?: object): KeyIdentity {
  const identity = ring.identify(text, connection);
  if (isAvailable(identity)) return identity;
  throw new Error('a small keys file is not read at once');
}
