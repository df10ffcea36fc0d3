import { expect } from 'vitest';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

/** How often rows were inserted into a branch; null when it is not there. */
type Life = number | null;

/** Branches of one table that are made, written to and deleted, and what is known of them. */
export class BranchLedger {
  readonly table: string;
  #lives = 0;
  /** What may be there now: one state, or two after a request without an answer. */
  readonly #known = new Map<string, readonly Life[]>();

  constructor(table: string) {
    this.table = table;
  }

  async create(url: string): Promise<void> {
    await this.#post(url, 'create', goodRows);
  }

  /** How many lives are over. */
  get lives(): number {
    return this.#lives;
  }

  /** Lives the life of one new branch. Rejects when the connection is lost. */
  async live(url: string): Promise<void> {
    const count = this.#known.size;
    const name = `life/${count}`;
    await this.#step(name, [null, 0], () => this.#post(url, 'branches/create', { name }));
    for (let inserts = 0; inserts < count % 3; inserts++) {
      const insert = `insert?branch=${encodeURIComponent(name)}`;
      await this.#step(name, [inserts, inserts + 1], () => this.#post(url, insert, goodRows));
    }
    if (count % 2 === 1) await this.#remove(url, name, count % 3);
    this.#lives++;
  }

  /** Deletes every branch that is there. */
  async clear(url: string): Promise<void> {
    for (const [name, [life]] of this.#known) {
      if (life !== null && life !== undefined) await this.#remove(url, name, life);
    }
    await this.check(url);
  }

  async #remove(url: string, name: string, life: number): Promise<void> {
    const remove = () => this.#post(url, 'branches/delete', { name });
    await this.#step(name, [life, null], remove);
  }

  async #step(name: string, states: readonly [Life, Life], run: () => Promise<void>) {
    this.#known.set(name, states);
    await run();
    this.#known.set(name, [states[1]]);
  }

  async #post(url: string, action: string, body: object | Uint8Array): Promise<void> {
    const reply = await send(url, `POST /v1/table/${this.table}/${action}`, { body });
    expect([reply.status, reply.text]).toEqual([200, expect.anything()]);
  }

  /** Holds the branches against what is known: each that is there can be read. */
  async check(url: string): Promise<void> {
    const rows = await this.#count(url, 'main');
    for (const [name, possible] of this.#known) {
      const count = await this.#count(url, name);
      const found = count === null ? null : count / rows! - 1;
      expect(possible, name).toContainEqual(found);
      this.#known.set(name, [found]);
    }
    const { json } = await send(url, `POST /v1/table/${this.table}/branches/list`);
    const there = [...this.#known].filter(([, [life]]) => life !== null).map(([name]) => name);
    expect(Object.keys(json['branches'] as object).toSorted()).toEqual(there.toSorted());
  }

  async #count(url: string, branch: string): Promise<number | null> {
    const body = { branch };
    const reply = await send(url, `POST /v1/table/${this.table}/count_rows`, { body });
    if (reply.status === 404) return null;
    expect(reply.status).toBe(200);
    return Number(reply.text);
  }
}
