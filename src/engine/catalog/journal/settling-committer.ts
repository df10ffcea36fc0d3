import type { Check, CommitResult, Write } from '../../../store/store.ts';
import type { Committer, Decided } from '../records/commit-loop.ts';

/** A commit in progress, as far as it is about one key. */
interface UnderWay {
  readonly made: Promise<boolean>;
  readonly value: Uint8Array | null;
}

/**
 * Commits, and tracks which changes in the store are journaled: those of this process when their commit
 * resolves, those of others before this process builds on them.
 */
export class SettlingCommitter implements Required<Committer> {
  readonly #committer: Committer;
  /** The commits in progress that write a key. */
  readonly #underWay = new Map<string, Set<UnderWay>>();
  #running: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor(committer: Committer) {
    this.#committer = committer;
  }

  async commit(
    checks: readonly Check[],
    writes: readonly Write[],
    decided?: Decided,
  ): Promise<CommitResult> {
    const work = this.#committer.commit(checks, writes, decided);
    const made = work.then(
      ({ kind }) => kind === 'committed',
      () => false,
    );
    const begun = writes.map(({ key, value }) => ({ key, one: { made, value } }));
    for (const { key, one } of begun) this.#begin(key, one);
    try {
      return await work;
    } finally {
      for (const { key, one } of begun) this.#end(key, one);
    }
  }

  async catchUp(): Promise<void> {
    await this.#committer.catchUp?.();
  }

  async settle(key: string, value?: Uint8Array): Promise<void> {
    for (const one of this.#underWay.get(key) ?? []) {
      if (wrote(one, value) && (await one.made)) return;
    }
    return this.#catchUpOnce();
  }

  /** Those who ask while one is in progress share the next: it may have begun before what they saw. */
  #catchUpOnce(): Promise<void> {
    this.#waiting ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#waiting = undefined;
        this.#running = this.catchUp();
        return this.#running;
      });
    return this.#waiting;
  }

  #begin(key: string, one: UnderWay): void {
    const all = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, all.add(one));
  }

  #end(key: string, one: UnderWay): void {
    const all = this.#underWay.get(key);
    all?.delete(one);
    if (all?.size === 0) this.#underWay.delete(key);
  }
}

/** Whether a commit may have written a value: the head that was read may be another process's, upon ours. */
function wrote({ value: written }: UnderWay, value: Uint8Array | undefined): boolean {
  return value === undefined || (written !== null && Buffer.compare(written, value) === 0);
}
