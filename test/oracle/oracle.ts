import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import { lancedb } from '../clients/lancedb.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { Judge } from './judge.ts';
import { LanceObserver } from './lance-observer.ts';
import { LanceReader } from './lance-reader.ts';
import { LanceSubject } from './lance-subject.ts';
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

/**
 * Which tables the service answers for: its own; Lance tables that the judge writes through its
 * catalog; Lance tables that it changes itself, beside one of the judge; Lance tables that it changes
 * itself, and that the judge reads in the same folder.
 */
type TableSort = 'engine' | 'lance' | 'changed lance' | 'served lance';

interface OracleParts {
  readonly folder: string;
  /** Databases in the folder, and in the catalog of the service. */
  readonly local: LanceDb.Connection;
  readonly served: LanceDb.Connection;
  readonly service: Service;
  readonly sort: TableSort;
}

/** LanceDB in this process and the built service beside it, for random programs. */
export class Oracle {
  readonly #parts: OracleParts;
  #tables = 0;

  private constructor(parts: OracleParts) {
    this.#parts = parts;
  }

  static async start(sort: TableSort = 'engine'): Promise<Oracle> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-oracle-'));
    const service = await Service.start();
    const headers = { 'x-api-key': ADMIN_KEY };
    const served = await lancedb.connectNamespace('rest', { uri: service.url, headers });
    const local = await lancedb.connect(folder);
    return new Oracle({ folder, local, served, service, sort });
  }

  async stop(): Promise<void> {
    const { local, served, service, folder } = this.#parts;
    local.close();
    served.close();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }

  /** Both sides, without a table yet. */
  pair(): Pair {
    const { local, served, service, sort } = this.#parts;
    const name = `t${this.#tables++}`;
    const compact = async (table: string): Promise<void> => {
      const { code, err } = await service.command('catalog', 'compact', `/${table}`);
      if (code !== 0) throw new Error(err);
    };
    const subject = new Subject(service.url, name, compact);
    if (sort === 'lance') {
      const judge = new Judge(served, name);
      return { judge, subject: new LanceReader(judge, subject), close: () => judge.close() };
    }
    if (sort === 'served lance') {
      const judge = new Judge(served, name);
      const tested = new LanceSubject(served, name, subject);
      return {
        judge: new LanceObserver(judge, tested),
        subject: tested,
        close: () => judge.close(),
        isSubjectFirst: true,
      };
    }
    const judge = new Judge(local, name);
    const close = async (): Promise<void> => {
      await judge.close();
      await subject.close();
    };
    const tested = sort === 'engine' ? subject : new LanceSubject(served, name, subject);
    return { judge, subject: tested, close };
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
