import type { Check, CommitResult, Write } from '../../store/store.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Committer, Decided } from './commit-loop.ts';
import type { Identity } from './identity.ts';
import type { Journal } from './journal.ts';

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

  /** @param onBehind Told when the store lacks changes that this process made. */
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
    const known: Check = { kind: 'sequence', atLeast: this.#last };
    const own = [...checks, this.#identity.check, known];
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
