import type { Judge } from './judge.ts';
import type { LanceSubject } from './lance-subject.ts';
import { isAside, makesVersion, type Outcome, type Side, type Statement } from './statement.ts';

/**
 * LanceDB on a table that the service changes: it answers for what it finds in the folder after each
 * change.
 */
export class LanceObserver implements Side {
  readonly #judge: Judge;
  readonly #subject: LanceSubject;

  constructor(judge: Judge, subject: LanceSubject) {
    this.#judge = judge;
    this.#subject = subject;
  }

  async create(): Promise<void> {
    await this.#judge.open();
  }

  async run(statement: Statement): Promise<Outcome> {
    if (!makesVersion(statement) && !isAside(statement)) return this.#judge.run(statement);
    const found = await this.#judge.look(statement);
    const { last } = this.#subject;
    // What a change may do is compared elsewhere.
    if (last?.kind === 'refused') return last;
    return found.kind === 'changed' && last?.kind === 'changed'
      ? { ...found, counts: last.counts }
      : found;
  }
}
