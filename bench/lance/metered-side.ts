import type { Table } from 'apache-arrow';
import type { Search, TableSide } from '../data/table-side.ts';

/** Processor time of other processes up to now, in ms. */
export type OtherProcesses = () => number;

/** A side whose processor time is counted, also that of the processes that work for it. */
export class MeteredSide implements TableSide {
  readonly name: string;
  readonly #side: TableSide;
  readonly #others: OtherProcesses;
  readonly #withOwn: boolean;
  #spent = 0;
  #calls = 0;

  /** @param withOwn Whether the time of this process counts. */
  constructor(side: TableSide, others: OtherProcesses, withOwn = true) {
    this.name = side.name;
    this.#side = side;
    this.#others = others;
    this.#withOwn = withOwn;
  }

  /** The processor time of a call since this was called last, in ms. Tables that are made or dropped do not count. */
  perCall(): number {
    const spent = this.#spent / this.#calls;
    this.#spent = 0;
    this.#calls = 0;
    return spent;
  }

  create(table: string, rows: Table): Promise<void> {
    return this.#side.create(table, rows);
  }

  drop(table: string): Promise<void> {
    return this.#side.drop(table);
  }

  append(table: string, rows: Table): Promise<void> {
    return this.#metered(() => this.#side.append(table, rows));
  }

  delete(table: string, where: string): Promise<void> {
    return this.#metered(() => this.#side.delete(table, where));
  }

  update(table: string, where: string, column: string, value: string): Promise<void> {
    return this.#metered(() => this.#side.update(table, where, column, value));
  }

  merge(table: string, rows: Table): Promise<void> {
    return this.#metered(() => this.#side.merge(table, rows));
  }

  scan(table: string): Promise<Table> {
    return this.#metered(() => this.#side.scan(table));
  }

  filter(table: string, where: string, columns: readonly string[]): Promise<Table> {
    return this.#metered(() => this.#side.filter(table, where, columns));
  }

  count(table: string, where: string): Promise<number> {
    return this.#metered(() => this.#side.count(table, where));
  }

  nearest(table: string, search: Search): Promise<Table> {
    return this.#metered(() => this.#side.nearest(table, search));
  }

  async #metered<Result>(work: () => Promise<Result>): Promise<Result> {
    const own = process.cpuUsage();
    const others = this.#others();
    const result = await work();
    const { user, system } = process.cpuUsage(own);
    if (this.#withOwn) this.#spent += (user + system) / 1000;
    this.#spent += this.#others() - others;
    this.#calls++;
    return result;
  }
}
