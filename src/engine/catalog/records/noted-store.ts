import type {
  Check,
  CommitResult,
  ReadCheck,
  Store,
  StoreWatch,
  Write,
} from '../../../store/store.ts';
import type { Committer, Decided } from './commit-loop.ts';
import { OwnStore } from './own-store.ts';
import { isNoted, type RecentRecords } from './recent-records.ts';

/** The store of this catalog; what is read from it is kept. */
export class NotedStore extends OwnStore {
  readonly #recent: RecentRecords;

  /**
   * @param id What the store carries while it is this catalog's.
   * @param onStrange Called whenever it carries something else.
   */
  constructor(store: Store, id: string, recent: RecentRecords, onStrange?: () => void) {
    super(store, id, onStrange);
    this.#recent = recent;
  }

  override async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const since = this.#recent.now;
    const values = await super.getMany(keys);
    this.#recent.note(keys, values, since);
    return values;
  }

  /** Records in use are evicted last. */
  override watch(seen: readonly ReadCheck[]): StoreWatch | undefined {
    const watch = super.watch(seen);
    if (watch === undefined) return undefined;
    const retained = seen.flatMap((one) =>
      one.kind === 'value' && isNoted(one.key) ? [one.key] : [],
    );
    return {
      holds: () => {
        for (const key of retained) this.#recent.use(key);
        return watch.holds();
      },
    };
  }
}

/** Commits; what they write is no longer what was read. */
export class NotedCommitter implements Committer {
  readonly #committer: Committer;
  readonly #recent: RecentRecords;

  constructor(committer: Committer, recent: RecentRecords) {
    this.#committer = committer;
    this.#recent = recent;
  }

  async commit(
    checks: readonly Check[],
    writes: readonly Write[],
    decided?: Decided,
  ): Promise<CommitResult> {
    try {
      return await this.#committer.commit(checks, writes, decided);
    } finally {
      this.#recent.changed(writes);
    }
  }

  async catchUp(): Promise<void> {
    await this.#committer.catchUp?.();
  }
}
