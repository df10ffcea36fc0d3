import type { Check, CommitResult, Write } from '../../store/store.ts';
import type { Committer, Decided } from './commit-loop.ts';

/**
 * Commits, and knows of what the store shows whether the journal has it: what this
 * process committed is in the journal once that commit is over, what others did is
 * written down when somebody here builds on it.
 */
export class SettlingCommitter implements Required<Committer> {
  readonly #committer: Committer;
  /** The commits under way that write a key. */
  readonly #underWay = new Map<string, Set<Promise<boolean>>>();
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
    for (const { key } of writes) this.#begin(key, made);
    try {
      return await work;
    } finally {
      for (const { key } of writes) this.#end(key, made);
    }
  }

  async catchUp(): Promise<void> {
    await this.#committer.catchUp?.();
  }

  async settle(key: string): Promise<void> {
    const own = this.#underWay.get(key) ?? [];
    for (const made of own) if (await made) return;
    return this.#catchUpOnce();
  }

  /** Those who ask while one is under way share the next: it may have begun before what they saw. */
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

  #begin(key: string, made: Promise<boolean>): void {
    const all = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, all.add(made));
  }

  #end(key: string, made: Promise<boolean>): void {
    const all = this.#underWay.get(key);
    all?.delete(made);
    if (all?.size === 0) this.#underWay.delete(key);
  }
}
