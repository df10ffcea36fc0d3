import { keyJson, type SharedKeySet } from './sealed-keys.ts';
import type { StoredKey } from './keys.ts';

/**
 * The keys of two histories: the newer state of each, and the stricter one where both are as new.
 * A revocation in either history stays, since keys are never restored.
 */
export function unionOf(
  one: Iterable<StoredKey>,
  other: Iterable<StoredKey>,
): ReadonlyMap<string, StoredKey> {
  const keys = new Map([...one].map((key) => [key.id, key]));
  for (const key of other) {
    const known = keys.get(key.id);
    keys.set(key.id, known === undefined ? key : stricter(known, key));
  }
  return keys;
}

function stricter(one: StoredKey, other: StoredKey): StoredKey {
  if (one === other || keyJson(one) === keyJson(other)) return one;
  const [newer, older] = (other.change ?? 0) > (one.change ?? 0) ? [other, one] : [one, other];
  const revoked = newer.revoked ?? older.revoked;
  const isTie = newer.change === older.change;
  const frozen = newer.frozen ?? (isTie ? older.frozen : undefined);
  return { ...newer, revoked, ...(frozen === undefined ? {} : { frozen }) };
}

/** Whether a set contains everything that is known, in the same or a newer state. */
export function follows(set: SharedKeySet, known: SharedKeySet | undefined): boolean {
  if (known === undefined) return true;
  if (set.change < known.change) return false;
  const union = unionOf(set.keys.values(), known.keys.values());
  return union.size === set.keys.size && [...union.values()].every((key) => isIn(set, key));
}

function isIn({ keys }: SharedKeySet, key: StoredKey): boolean {
  const found = keys.get(key.id);
  return found !== undefined && (found === key || keyJson(found) === keyJson(key));
}
