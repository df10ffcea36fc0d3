import { CatalogError } from '../../protocol/errors.ts';
import type { Check, CommitResult, Store, StoreEntry, Write } from '../../store/store.ts';
import { KeyFileError } from './key-document.ts';
import { hasOwnKeys, ownKeysFault, readCopy, writeCopy } from './key-file.ts';
import type { KeyObjects } from './key-objects.ts';
import type { KeySeal } from './key-seal.ts';
import { follows, unionOf } from './key-union.ts';
import type { StoredKey } from './keys.ts';
import {
  KEY_HEAD,
  KEY_RECORDS,
  keyJson,
  openSealedKeys,
  sealKeys,
  writesBetween,
  type KeyFault,
  type SharedKeySet,
  type SealedKeys,
} from './sealed-keys.ts';

/** Number of attempts before a change fails. */
export const SHARED_KEY_ATTEMPTS = 24;
const PAGE = 1000;
/** First key of the store after all records. */
const END = `${KEY_RECORDS.slice(0, -1)}0`;

/** What happens to keys of its own in the file of the copy: they are a fault, stay, or are replaced. */
type OwnKeys = 'refuse' | 'leave' | 'replace';

/** Commits of the catalog; each is journaled before it resolves. */
export interface KeyCommitter {
  commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult>;
  /** Resolves when the change that gave a key its value is in the journal. */
  settle(key: string, value: Uint8Array): Promise<void>;
}

export interface SharedKeysOptions {
  readonly store: Pick<Store, 'get' | 'range'>;
  /** Absent if keys are only read. */
  readonly committer: KeyCommitter | undefined;
  readonly objects: KeyObjects;
  readonly seal: KeySeal;
  /** The copy in the data folder, from which requests are authenticated. */
  readonly copy: string;
  /** Called with each fault that is found; without it, faults are not repaired either. */
  readonly onFault?: (fault: KeyFault) => void;
}

/**
 * The API keys of a catalog in its store. What the store says is compared with the object of the
 * last change and with the copy in the data folder: keys that are forged, missing or older are
 * replaced by those that are known, and reported.
 */
export class SharedKeys {
  readonly #options: SharedKeysOptions;
  /** What `look` found last. */
  #last: { readonly head: Uint8Array | null; readonly set: SharedKeySet | undefined } | undefined;

  constructor(options: SharedKeysOptions) {
    this.#options = options;
  }

  /** The bytes of the head, which change with each change of the keys; undefined if there is none. */
  head(): Promise<Uint8Array | undefined> {
    return this.#options.store.get(KEY_HEAD);
  }

  /**
   * Compares the keys in the store with those that `look` found last, and looks again if they differ.
   * The object beside the journal is not read.
   */
  async compare(): Promise<SharedKeySet | undefined> {
    const last = this.#last;
    const stored = last === undefined ? undefined : await this.#stored();
    const isSound = stored?.faults.length === 0 && isSame(stored.head, last?.head ?? null);
    return isSound ? last?.set : this.look();
  }

  /**
   * The keys in force, which are in the journal and in the data folder when this resolves;
   * undefined if no key was shared yet.
   * @throws KeyFileError or CatalogError if they cannot be read or are not authentic.
   */
  async look(own: OwnKeys = 'refuse'): Promise<SharedKeySet | undefined> {
    const { committer } = this.#options;
    for (let attempt = 0; attempt < SHARED_KEY_ATTEMPTS; attempt += 1) {
      const known = await this.#known();
      const stored = await this.#stored();
      if (stored === undefined) continue;
      if (isUntouched(stored) && known === undefined) return this.#found(stored);
      if (stored.set !== undefined && follows(stored.set, known)) {
        if (committer === undefined || (await this.#adopt(stored, own))) return this.#found(stored);
      } else await this.#heal(stored, known);
    }
    throw new CatalogError(
      'ServiceUnavailable',
      'the API keys in the store were changed by others too often',
    );
  }

  /**
   * Replaces the keys by what `change` makes of them. It is journaled when this resolves.
   * @throws CatalogError ServiceUnavailable if it cannot be known whether it took effect.
   */
  async update(
    change: (keys: readonly StoredKey[]) => readonly StoredKey[] | Promise<readonly StoredKey[]>,
    own: OwnKeys = 'refuse',
  ): Promise<void> {
    for (let attempt = 0; attempt < SHARED_KEY_ATTEMPTS; attempt += 1) {
      await this.#requireCopy(own);
      const set = (await this.look(own)) ?? { change: 0, keys: new Map<string, StoredKey>() };
      const next = changedSet(set, await change([...set.keys.values()]));
      if (next === undefined || (await this.#commit(set, next, own))) return;
    }
    throw new CatalogError(
      'ConcurrentModification',
      'the API keys were changed by others too often',
    );
  }

  /**
   * Seals the keys of the copy with a new secret, whatever store and objects say.
   * @returns The number of keys.
   * @throws KeyFileError if there is no copy, or a change after it.
   */
  async reseal(): Promise<number> {
    const { copy, objects, seal } = this.#options;
    const known = await readCopy(copy);
    const last = await objects.last();
    if (known === undefined) throw new KeyFileError(`${copy} is no copy of shared keys`);
    if (known.change < last) {
      throw new KeyFileError(
        `${copy} has the keys after change ${known.change}, but the last one is ${last}: use the data folder of a gateway with newer keys`,
      );
    }
    const stored = await this.#stored();
    if (stored === undefined)
      throw new KeyFileError('others change the API keys: stop all gateways');
    const next = sealKeys(seal, { change: known.change + 1, keys: known.keys });
    await objects.sweep(0);
    const check = { kind: 'value', key: KEY_HEAD, value: stored.head } as const;
    await this.#committer().commit([check], writesBetween(entriesOf(stored), next));
    await this.look();
    return known.keys.size;
  }

  /** Before a change: a file with keys of its own would hide it from the gateway. */
  async #requireCopy(own: OwnKeys): Promise<void> {
    const { copy } = this.#options;
    if (own === 'refuse' && (await hasOwnKeys(copy))) throw new KeyFileError(ownKeysFault(copy));
  }

  /** False if others were first. */
  async #commit(set: SharedKeySet, next: SharedKeySet, own: OwnKeys): Promise<boolean> {
    const { seal } = this.#options;
    const [head, ...records] = sealKeys(seal, set);
    const before = set.change === 0 ? [] : [head!, ...records];
    const check = { kind: 'value', key: KEY_HEAD, value: before[0]?.value ?? null } as const;
    const writes = writesBetween(before, sealKeys(seal, next));
    const result = await this.#committer().commit([check], writes);
    if (result.kind === 'conflict') return false;
    const now = await this.look(own);
    return now !== undefined && follows(now, next);
  }

  #found({ head, set }: SealedKeys): SharedKeySet | undefined {
    this.#last = { head, set };
    return set;
  }

  async #known(): Promise<SharedKeySet | undefined> {
    const { objects, seal, copy } = this.#options;
    const [kept, mine] = [await objects.newest(seal), await readCopy(copy)];
    if (kept === undefined || mine === undefined) return kept ?? mine;
    const keys = unionOf(kept.keys.values(), mine.keys.values());
    return { change: Math.max(kept.change, mine.change), keys };
  }

  /** Head and records of one moment; undefined if they changed meanwhile. */
  async #stored(): Promise<SealedKeys | undefined> {
    const { store, seal } = this.#options;
    const head = await store.get(KEY_HEAD);
    const records = [];
    for (let start = KEY_RECORDS; ;) {
      const page = await store.range({ start, end: END, limit: PAGE });
      records.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      start = `${last.key}\u0000`;
    }
    const after = await store.get(KEY_HEAD);
    if (!isSame(head ?? null, after ?? null)) return undefined;
    return openSealedKeys(seal, head, records);
  }

  /** False if the last change left other keys than the store has. */
  async #adopt({ head, set }: SealedKeys, own: OwnKeys): Promise<boolean> {
    const { objects, seal, copy } = this.#options;
    if (head === null || set === undefined) return false;
    await this.#committer().settle(KEY_HEAD, head);
    if (!(await objects.put(seal, set))) return false;
    if (own !== 'leave') await writeCopy(copy, set, own);
    return true;
  }

  /** Puts what is known in place of what the store says. Of what the store says, revocations stay. */
  async #heal(stored: SealedKeys, known: SharedKeySet | undefined): Promise<void> {
    const { seal, onFault, committer } = this.#options;
    const faults = stored.faults.length > 0 ? stored.faults : [outdated];
    const why = faults[0]?.sentence ?? outdated.sentence;
    if (known === undefined)
      throw new KeyFileError(`${why}, and no copy beside the journal is left`);
    if (committer === undefined || onFault === undefined) {
      throw new KeyFileError(`${why}: a running gateway reports it and restores the known keys`);
    }
    for (const fault of faults) onFault(fault);
    const believed = stored.set?.keys.values() ?? revocationsIn(stored);
    const change = Math.max(known.change, stored.set?.change ?? 0) + 1;
    const keys = withChange(known, unionOf(known.keys.values(), believed), change);
    const writes = writesBetween(entriesOf(stored), sealKeys(seal, { change, keys }));
    await committer.commit([{ kind: 'value', key: KEY_HEAD, value: stored.head }], writes);
  }

  #committer(): KeyCommitter {
    const { committer } = this.#options;
    if (committer !== undefined) return committer;
    throw new CatalogError('ServiceUnavailable', 'the API keys are only read here');
  }
}

function entriesOf({ head, entries }: SealedKeys): readonly StoreEntry[] {
  return head === null ? entries : [{ key: KEY_HEAD, value: head }, ...entries];
}

const outdated: KeyFault = {
  kind: 'older',
  sentence: 'the API keys in the store lack a change that was acknowledged',
};

function isUntouched({ head, entries }: SealedKeys): boolean {
  return head === null && entries.length === 0;
}

/** Revocations are final, so they may be believed of a record that is outdated otherwise. */
function revocationsIn({ authentic }: SealedKeys): readonly StoredKey[] {
  return authentic.filter(({ revoked }) => revoked !== null);
}

/** The keys after a change; undefined if nothing changed. */
function changedSet(set: SharedKeySet, after: readonly StoredKey[]): SharedKeySet | undefined {
  const keys = new Map(after.map((key) => [key.id, key]));
  const next = withChange(set, keys, set.change + 1);
  const isChanged = [...next.values()].some((key) => key.change === set.change + 1);
  return isChanged ? { change: set.change + 1, keys: next } : undefined;
}

/** Gives the keys that differ from known ones the number of the change. */
function withChange(
  known: SharedKeySet,
  keys: ReadonlyMap<string, StoredKey>,
  change: number,
): ReadonlyMap<string, StoredKey> {
  return new Map(
    [...keys].map(([id, key]) => {
      const old = known.keys.get(id);
      const isSame = old !== undefined && (old === key || keyJson(old) === keyJson(key));
      return [id, isSame ? key : { ...key, change }];
    }),
  );
}

function isSame(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return Buffer.compare(one, other) === 0;
}
