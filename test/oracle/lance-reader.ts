import type { Judge } from './judge.ts';
import type { Outcome, Side, Statement } from './statement.ts';
import type { Subject } from './subject.ts';

/**
 * The service on a table that LanceDB itself writes: the judge makes the changes, through the
 * catalog, and the service answers for each version.
 */
export class LanceReader implements Side {
  readonly #judge: Judge;
  readonly #subject: Subject;

  constructor(judge: Judge, subject: Subject) {
    this.#judge = judge;
    this.#subject = subject;
  }

  async create(): Promise<void> {
    this.#subject.noteVersion(this.#judge.version);
  }

  async run(statement: Statement): Promise<Outcome> {
    const { kind } = statement;
    if (kind === 'query' || kind === 'count' || kind === 'nearest') {
      return this.#subject.run(statement);
    }
    const found = await this.#subject.look(statement, this.#judge.version);
    const made = this.#judge.last;
    if (made?.kind === 'refused') return { kind: 'refused', message: 'the judge refused it' };
    return made?.kind === 'changed' && found.kind === 'changed'
      ? { ...found, counts: made.counts }
      : found;
  }
}
