import type * as LanceDb from '@lancedb/lancedb';
import { Judge } from './judge.ts';
import type { Outcome, Side, Statement } from './statement.ts';
import type { Subject } from './subject.ts';
import type { Column } from './value.ts';

/** The service on a Lance table: a Lance client makes the table, and the service changes and reads it. */
export class LanceSubject implements Side {
  readonly #client: Judge;
  readonly #subject: Subject;
  /** The latest outcome. */
  last: Outcome | undefined;

  /** @param served The database in the catalog of the service. */
  constructor(served: LanceDb.Connection, name: string, subject: Subject) {
    this.#client = new Judge(served, name);
    this.#subject = subject;
  }

  async create(rows: readonly Column[]): Promise<void> {
    await this.#client.create(rows);
    this.#subject.noteVersion(this.#client.version);
  }

  async run(statement: Statement): Promise<Outcome> {
    this.last = await this.#subject.run(statement);
    return this.last;
  }
}
