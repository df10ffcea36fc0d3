import type { Check, CommitResult, Write } from '../../store/store.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Committer } from './commit-loop.ts';
import type { Identity } from './identity.ts';
import type { Journal } from './journal.ts';

/**
 * Commits that hold only while the store is this catalog's: one that was wiped
 * or swapped under a running service takes nothing.
 */
export class OwnCommitter implements Committer {
  readonly #journal: Journal;
  readonly #identity: Identity;

  constructor(journal: Journal, identity: Identity) {
    this.#journal = journal;
    this.#identity = identity;
  }

  /** @throws CatalogError ServiceUnavailable when the store is not this catalog's, and those of the journal. */
  async commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    const result = await this.#journal.commit([...checks, this.#identity.check], writes);
    if (result.kind === 'conflict' && result.check === checks.length) {
      throw new CatalogError('ServiceUnavailable', "the store no longer carries this catalog's id");
    }
    return result;
  }

  async catchUp(): Promise<void> {
    await this.#journal.catchUp();
  }
}
