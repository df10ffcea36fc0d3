import { groupOf, type DamagedKeys } from './key-digest.ts';
import { boundBytes, keyBytes } from './key.ts';
import type { Check } from './store.ts';
import { StoreError } from './store-error.ts';

/** A value that does not match its checksum, or that is missing though its key is there. */
interface DamagedValue {
  readonly kind: 'value';
  readonly key: string;
}

/** Anything else that is damaged: a page of the file, or a change that the journal does not have yet. */
interface DamagedPart {
  readonly kind: 'part';
  readonly sentence: string;
}

/** Damage of a store. */
export type StoreDamage = DamagedValue | DamagedKeys | DamagedPart;

/** Called for damage that a store finds, each time it is found. */
export type OnStoreDamage = (damage: StoreDamage) => void;

/** A sentence that says what is damaged. */
export function damageSentence(damage: StoreDamage): string {
  if (damage.kind === 'value') {
    return `the value of the key ${JSON.stringify(damage.key)} does not match its checksum`;
  }
  if (damage.kind === 'part') return damage.sentence;
  const { group, expected, found } = damage;
  return `the keys that begin with ${JSON.stringify(group)} do not match their digest (${found} keys, ${expected} expected)`;
}

/** Damage that was found in a store. It is remembered until the store is opened again. */
export class DamageRegister {
  readonly #onDamage: OnStoreDamage;
  readonly #reported = new WeakSet<StoreError>();
  #groups = new Map<string, DamagedKeys>();

  constructor(onDamage: OnStoreDamage = () => undefined) {
    this.#onDamage = onDamage;
  }

  /** Reports a damaged value. @returns The error of the operation that needs it. */
  value(key: string): StoreError {
    return this.#report({ kind: 'value', key });
  }

  /** Reports an error about damage, unless it was reported. @returns The same error */
  error(error: StoreError): StoreError {
    if (error.kind === 'damaged' && !this.#reported.has(error)) {
      this.#onDamage({ kind: 'part', sentence: error.message });
      this.#reported.add(error);
    }
    return error;
  }

  /** Takes the result of a check in place of the result before. */
  checked(damaged: readonly DamagedKeys[]): void {
    this.#groups = new Map(damaged.map((one) => [one.group, one]));
    for (const one of damaged) this.#report(one);
  }

  /** @throws StoreError damaged if absence of the key cannot be known, since keys of its group are gone. */
  requireAbsence(key: Uint8Array): void {
    const damage = this.#groups.get(groupOf(key));
    if (damage !== undefined) throw this.#report(damage);
  }

  /** @throws StoreError damaged if keys of a group that the range `[start, end)` touches are gone. */
  requireRange(start: Uint8Array, end: Uint8Array): void {
    for (const damage of this.#groups.values()) {
      if (touches(start, end, damage.group)) throw this.#report(damage);
    }
  }

  /** @throws StoreError damaged if a check of a commit is about keys that may be gone. */
  requireKnown(checks: readonly Check[]): void {
    for (const check of checks) {
      if (check.kind === 'count') this.requireRange(boundBytes(check.start), boundBytes(check.end));
      else if (check.kind === 'value' && check.value === null)
        this.requireAbsence(keyBytes(check.key));
    }
  }

  #report(damage: StoreDamage): StoreError {
    this.#onDamage(damage);
    const error = new StoreError('damaged', damageSentence(damage));
    this.#reported.add(error);
    return error;
  }
}

function touches(start: Uint8Array, end: Uint8Array, group: string): boolean {
  const byte = group.charCodeAt(0);
  const [first = 0, last = 0] = [start[0], end[0]];
  return byte >= first && (byte < last || (byte === last && end.length > 1));
}
