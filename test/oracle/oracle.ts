import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import { lancedb } from '../clients/lancedb.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { Judge } from './judge.ts';
import { LanceReader } from './lance-reader.ts';
import { programOf, type Mix } from './program.ts';
import { reportOf, summaryOf } from './report.ts';
import { run, type Pair, type Run } from './run.ts';
import { shrink } from './shrink.ts';
import type { Program } from './statement.ts';
import { Subject } from './subject.ts';

/** The programs to run. */
export interface Plan {
  readonly mix: Mix;
  readonly firstSeed: number;
  readonly programs: number;
  /** Statements of each. */
  readonly length: number;
}

/** Which tables the service answers for: its own, or those that LanceDB writes through its catalog. */
type TableSort = 'engine' | 'lance';

/** LanceDB in this process and the built service beside it, for random programs. */
export class Oracle {
  readonly #folder: string;
  readonly #database: LanceDb.Connection;
  readonly #service: Service;
  readonly #sort: TableSort;
  #tables = 0;

  private constructor(
    folder: string,
    database: LanceDb.Connection,
    service: Service,
    sort: TableSort,
  ) {
    this.#folder = folder;
    this.#database = database;
    this.#service = service;
    this.#sort = sort;
  }

  static async start(sort: TableSort = 'engine'): Promise<Oracle> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-oracle-'));
    const service = await Service.start();
    const headers = { 'x-api-key': ADMIN_KEY };
    const database =
      sort === 'engine'
        ? await lancedb.connect(folder)
        : await lancedb.connectNamespace('rest', { uri: service.url, headers });
    return new Oracle(folder, database, service, sort);
  }

  async stop(): Promise<void> {
    this.#database.close();
    await this.#service.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Both sides, without a table yet. */
  pair(): Pair {
    const name = `t${this.#tables++}`;
    const judge = new Judge(this.#database, name);
    const own = new Subject(this.#service.url, name);
    if (this.#sort === 'lance') {
      return { judge, subject: new LanceReader(judge, own), close: () => judge.close() };
    }
    const subject = own;
    const close = async (): Promise<void> => {
      await judge.close();
      await subject.close();
    };
    return { judge, subject, close };
  }

  /**
   * Runs programs and prints their seeds.
   * @throws Error with the shrunk program when the sides differ.
   */
  async check({ mix, firstSeed, programs, length }: Plan): Promise<Run> {
    const seeds = Array.from({ length: programs }, (_, at) => firstSeed + at);
    let [asked, refused] = [0, 0];
    for (const seed of seeds) {
      const done = await this.#run(programOf(seed, mix, length));
      asked += done.asked;
      refused += done.refused;
    }
    process.stdout.write(`${summaryOf(seeds, asked, refused)}\n`);
    return { asked, refused };
  }

  async #run(program: Program): Promise<Run> {
    const done = await run(program, this.pair());
    if (done.failure === undefined) return done;
    const start = { program, failure: done.failure };
    throw new Error(reportOf(await shrink(start, (smaller) => run(smaller, this.pair()))));
  }
}
