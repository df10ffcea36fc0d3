import { randomUUID } from 'node:crypto';
import type { Storage } from '../../../storage/storage.ts';
import type { Check, Store, CommitResult, Write } from '../../../store/store.ts';
import { idPaths, readId, storedId, foreignStore } from '../records/catalog-id.ts';
import type { Journal } from './journal.ts';
import { CATALOG_KEY } from '../records/keys.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Committer, Decided } from '../records/commit-loop.ts';

/**
 * Commits that hold only while the store is this catalog's: one that was wiped
 * or swapped under a running service takes nothing.
 */
export class OwnCommitter implements Committer {
  readonly #journal: Journal;
  readonly #identity: Identity;
  readonly #onBehind: () => void;
  /** The highest change of this process: a store that has not as many has lost some. */
  #last = 0n;

  /** @param onBehind Called when the store lacks changes that this process made. */
  constructor(journal: Journal, identity: Identity, onBehind: () => void = () => undefined) {
    this.#journal = journal;
    this.#identity = identity;
    this.#onBehind = onBehind;
  }

  /** @throws CatalogError ServiceUnavailable when the store is not this catalog's, and those of the journal. */
  async commit(
    checks: readonly Check[],
    writes: readonly Write[],
    decided?: Decided,
  ): Promise<CommitResult> {
    const unchanged: Check = { kind: 'sequence', atLeast: this.#last };
    const own = [...checks, this.#identity.check, unchanged];
    const result = await this.#journal.commit(own, writes, decided);
    if (result.kind === 'committed' && result.sequence > this.#last) this.#last = result.sequence;
    if (result.kind === 'conflict' && result.check > checks.length) {
      this.#onBehind();
      throw new CatalogError(
        'ServiceUnavailable',
        'the store lacks changes that were acknowledged',
      );
    }
    if (result.kind === 'conflict' && result.check === checks.length) {
      throw new CatalogError('ServiceUnavailable', "the store no longer carries this catalog's id");
    }
    return result;
  }

  async catchUp(): Promise<void> {
    await this.#journal.catchUp();
  }
}

/** Which catalog this is: a random id that stands in the store and on disk. */
export interface Identity {
  readonly id: string;
  /** Holds as long as the store is this catalog's; belongs into every commit. */
  readonly check: Check;
}

/**
 * Makes sure that a journal and a store belong together. Where both are
 * fresh they get a new id; a start that a crash cut off is finished.
 * @param folder The folder of the journal.
 * @throws CatalogError ServiceUnavailable when the store carries another id or none
 * (wiped, or another catalog's).
 */
export async function openIdentity(
  storage: Storage,
  folder: string,
  store: Store,
  journal: Journal,
): Promise<Identity> {
  await storage.folders?.make(folder);
  const id =
    (await readId(storage, idPaths(folder).final)) ??
    (await found(storage, folder, store, journal));
  const stored = await storedId(store);
  if (stored !== id) throw foreignStore(id, stored);
  return { id, check: { kind: 'value', key: CATALOG_KEY, value: Buffer.from(id) } };
}

/**
 * Founds the catalog: an id is proposed on disk, then put into the store, then
 * made final on disk. A crash, or another process that does the same, leaves
 * the proposal, and the next process continues with it.
 */
async function found(
  storage: Storage,
  folder: string,
  store: Store,
  journal: Journal,
): Promise<string> {
  const { final, proposal } = idPaths(folder);
  // A store that has an id already was founded with another folder, unless the id is our proposal.
  const taken = await storedId(store);
  if (taken === undefined) await storage.putIfAbsent(proposal, Buffer.from(randomUUID()));
  const id = (await readId(storage, proposal)) ?? (await readId(storage, final));
  if (id === undefined) throw foreignStore(undefined, taken);
  const value = Buffer.from(id);
  await journal.commit(
    [{ kind: 'value', key: CATALOG_KEY, value: null }],
    [{ key: CATALOG_KEY, value }],
  );
  // After a commit of unknown outcome the state of the store counts.
  if ((await storedId(store)) !== id) return overtaken(storage, folder, store, id);
  await journal.catchUp();
  await storage.putIfAbsent(final, value);
  await storage.discard(proposal);
  await storage.flush(folder);
  return id;
}

/** Another process founded the catalog and took its proposal away before we looked: ours came too late. */
async function overtaken(
  storage: Storage,
  folder: string,
  store: Store,
  id: string,
): Promise<string> {
  const { final, proposal } = idPaths(folder);
  const existing = await readId(storage, final);
  if (existing === undefined) throw foreignStore(id, await storedId(store));
  await storage.discard(proposal);
  return existing;
}
