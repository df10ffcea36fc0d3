import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FixedSizeList,
  Field,
  Float32,
  Int64,
  Utf8,
  Table,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import { ARROW_STREAM, open, send, sendGranted, type Sent } from '../service/http.ts';
import type { Random } from '../service/random.ts';

const TABLES = 6;
const DIMENSIONS = 8;
/** Rows of a table beyond which its oldest ones are deleted. */
const MOST_ROWS = 4000;
const APPENDED = 10;
const badQuery = { vector: { single_vector: [] }, filter: 'no such (', k: 1 };

/** A table with rows `first` up to below `next`, by the column `id`. */
interface Rows {
  readonly name: string;
  first: number;
  next: number;
  tags: number;
}

type Act = (table: Rows) => Promise<unknown>;

/** Requests of every common kind to a service, whose tables stay about the same size. */
export class Workload {
  readonly #url: string;
  readonly #random: Random;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  readonly #tables: readonly Rows[];
  readonly #acts: readonly Act[];
  /** Requests that were answered as expected. */
  done = 0;

  constructor(url: string, random: Random) {
    this.#url = url;
    this.#random = random;
    this.#tables = Array.from({ length: TABLES }, (_, at) => ({
      name: `soak$t${at}`,
      first: 0,
      next: 0,
      tags: 0,
    }));
    this.#acts = this.#weighted();
  }

  /** Makes the tables, two of them with indices. */
  async begin(): Promise<void> {
    await this.#post('/v1/namespace/soak/create', {});
    for (const table of this.#tables) {
      table.next = MOST_ROWS / 2;
      await this.#arrow(`/v1/table/${table.name}/create`, 0, table.next);
    }
    for (const { name } of this.#tables.slice(0, 2)) {
      await this.#post(`/v1/table/${name}/create_index`, { column: 'id', index_type: 'BTREE' });
      await this.#post(`/v1/table/${name}/create_index`, { column: 'text', index_type: 'FTS' });
    }
  }

  /** Works on all tables side by side until a moment; each request of a table waits for the one before. */
  async run(until: number, pauseMillis: number): Promise<void> {
    await Promise.all(this.#tables.map((table) => this.#work(table, until, pauseMillis)));
  }

  async #work(table: Rows, until: number, pauseMillis: number): Promise<void> {
    while (Date.now() < until) {
      await this.#acts[this.#random(this.#acts.length)]!(table);
      this.done++;
      await sleep(pauseMillis / 2 + this.#random(pauseMillis));
    }
  }

  /** @throws Error unless each table has the rows that were written and not deleted. */
  async verify(): Promise<void> {
    for (const { name, first, next } of this.#tables) {
      const { text } = await this.#post(`/v1/table/${name}/count_rows`, {});
      if (text !== String(next - first))
        throw new Error(`${name} has ${text} rows, not ${next - first}`);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #weighted(): readonly Act[] {
    const weights: readonly (readonly [number, Act])[] = [
      [8, (table) => this.#append(table)],
      [2, (table) => this.#update(table)],
      [2, (table) => this.#merge(table)],
      [5, (table) => this.#query(table, { filter: `id % 7 = ${this.#random(7)}`, k: 100 })],
      [3, (table) => this.#query(table, { vector: { single_vector: this.#vector() }, k: 10 })],
      [2, (table) => this.#query(table, { k: MOST_ROWS * 2 })],
      [
        1,
        (table) =>
          this.#query(
            table,
            { full_text_query: { string_query: { query: 'word3' } }, k: 10 },
            'soak$t0',
          ),
      ],
      [4, ({ name }) => this.#post(`/v1/table/${name}/describe`, {})],
      [2, () => this.#get('/v1/namespace/soak/table/list')],
      [1, (table) => this.#tag(table)],
      [1, (table) => this.#branch(table)],
      [1, () => this.#passingTable()],
      [1, (table) => this.#leave(table)],
      [1, () => this.#refused('/v1/table/soak$none/describe', {}, 404)],
      [1, ({ name }) => this.#refused(`/v1/table/${name}/query`, { body: badQuery }, 400)],
      [
        1,
        ({ name }) =>
          this.#refused(`/v1/table/${name}/describe`, { body: {}, key: 'agk_wrong' }, 401),
      ],
    ];
    return weights.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));
  }

  async #append(table: Rows): Promise<void> {
    await this.#arrow(`/v1/table/${table.name}/insert`, table.next, table.next + APPENDED);
    table.next += APPENDED;
    if (table.next - table.first <= MOST_ROWS) return;
    const first = table.next - MOST_ROWS / 2;
    await this.#post(`/v1/table/${table.name}/delete`, { predicate: `id < ${first}` });
    table.first = first;
  }

  async #update({ name, first, next }: Rows): Promise<void> {
    const id = first + this.#random(next - first);
    const updates = [['text', `'word${this.#random(20)} again'`]];
    await this.#post(`/v1/table/${name}/update`, { predicate: `id = ${id}`, updates });
  }

  async #merge(table: Rows): Promise<void> {
    const from = table.next - APPENDED / 2;
    const flags = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
    await this.#arrow(`/v1/table/${table.name}/merge_insert?${flags}`, from, from + APPENDED);
    table.next = from + APPENDED;
  }

  async #query({ name }: Rows, body: object, of = name): Promise<void> {
    await this.#post(`/v1/table/${of}/query`, { vector: { single_vector: [] }, ...body });
  }

  async #tag(table: Rows): Promise<void> {
    const tag = `tag${table.tags++}`;
    const { json } = await this.#post(`/v1/table/${table.name}/describe`, {});
    await this.#post(`/v1/table/${table.name}/tags/create`, { tag, version: json['version'] });
    await this.#post(`/v1/table/${table.name}/tags/delete`, { tag });
  }

  async #branch({ name }: Rows): Promise<void> {
    await this.#post(`/v1/table/${name}/branches/create`, { name: 'trial' });
    await this.#arrow(`/v1/table/${name}/insert?branch=trial`, 0, APPENDED);
    await this.#post(`/v1/table/${name}/branches/delete`, { name: 'trial' });
  }

  /** A table that is made and dropped. */
  async #passingTable(): Promise<void> {
    const name = `soak$passing${this.#random(2 ** 31)}`;
    await this.#arrow(`/v1/table/${name}/create`, 0, APPENDED);
    await this.#post(`/v1/table/${name}/drop`, {});
  }

  /** A client that asks for all rows and leaves before it has read them. */
  async #leave({ name }: Rows): Promise<void> {
    const body = { vector: { single_vector: [] }, k: MOST_ROWS * 2 };
    const incoming = await open(this.#url, `POST /v1/table/${name}/query`, { body });
    incoming.destroy();
  }

  async #refused(path: string, sent: Sent, status: number): Promise<void> {
    const reply = await send(this.#url, `POST ${path}`, { ...sent, agent: this.#agent });
    if (reply.status !== status)
      throw new Error(`${path} was answered ${reply.status} ${reply.text}`);
  }

  #post(path: string, body: object) {
    return sendGranted(this.#url, `POST ${path}`, { body, agent: this.#agent });
  }

  #get(path: string) {
    return sendGranted(this.#url, `GET ${path}`, { agent: this.#agent });
  }

  #arrow(path: string, from: number, to: number) {
    const body = this.#rows(from, to);
    return sendGranted(this.#url, `POST ${path}`, {
      body,
      headers: ARROW_STREAM,
      agent: this.#agent,
    });
  }

  #vector(): readonly number[] {
    return Array.from({ length: DIMENSIONS }, () => this.#random(1000) / 1000);
  }

  #rows(from: number, to: number): Uint8Array {
    const ids = Array.from({ length: to - from }, (_, at) => from + at);
    const item = new Field('item', new Float32(), true);
    const columns = {
      id: vectorFromArray(ids.map(BigInt), new Int64()),
      text: vectorFromArray(
        ids.map((id) => `word${id % 20} of row ${id}`),
        new Utf8(),
      ),
      vector: vectorFromArray(
        ids.map(() => this.#vector()),
        new FixedSizeList(DIMENSIONS, item),
      ),
    };
    return tableToIPC(new Table(columns), 'stream');
  }
}
