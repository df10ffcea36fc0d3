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
    this.#subject.noteVersion(this.#judge.version);
    const made = this.#judge.last;
    if (made?.kind !== 'changed') return { kind: 'refused', message: 'the judge refused it' };
    const all = { kind: 'query', columns: null, filter: null, order: [], limit: null } as const;
    const found = await this.#subject.run({ ...all, offset: 0, version: null });
    return found.kind === 'rows' ? { ...made, columns: found.columns } : found;
  }
}
