import { Agent } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonValue } from '../../src/protocol/json.ts';
import type { Restrictions } from '../../src/protocol/restrictions.ts';
import { row } from '../engine/restrict/random-requests.ts';
import {
  compareTable,
  randomRestrictions,
  type RestrictedTables,
} from '../engine/restrict/restricted-oracle.ts';
import { plain, streamOfRows, type Told } from '../engine/restrict/restricted-table.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';
import { rowsOf } from '../support/query-answer.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, type Reply } from './http.ts';

/** The oracle of restrictions by requests to two processes with worker threads. */

const TABLES = casesOf(2, 20);
const LANCE_TABLES = casesOf(1, 10);
const QUERIES = casesOf(6, 50);
const CHANGES = casesOf(3, 16);
/** All of them take half an hour on a busy machine. */
const timeout = casesOf(300_000, 7_200_000);

/** A restricted table and its copy. */
interface Pair {
  readonly table: string;
  readonly copy: string;
  readonly seed: number;
}

const pairsOf = (table: string, copy: string, count: number): readonly Pair[] =>
  fc
    .sample(fc.integer(), count)
    .map((seed, at) => ({ table: `${table}${at}`, copy: `${copy}${at}`, seed }));

const pairs = pairsOf('t', 'c', TABLES);
const lancePairs = pairsOf('l', 'd', LANCE_TABLES);
/** Compared where threads scan. */
const threadPairs = [...pairsOf('u', 'e', TABLES), ...pairsOf('lu', 'f', LANCE_TABLES)];
const all = [...pairs, ...lancePairs, ...threadPairs];

/** The file of what `randomRestrictions` says. JSON is YAML. */
function restrictionsFile(): string {
  const bound = all.flatMap(({ table, seed }) => {
    const { kept, masked } = randomRestrictions(seed);
    const shared = { tables: [`/${table}`], subjects: ['role:bound'] };
    const columns = Object.fromEntries(masked.map(({ column, as }) => [column, as]));
    return [
      // A caller whom nothing binds has row ids and scores of stored rows.
      { name: `${table}-all`, ...shared, rows: 'true' },
      ...kept.map(({ sql }, at) => ({ name: `${table}-${at}`, ...shared, rows: sql })),
      ...(masked.length === 0 ? [] : [{ name: table, ...shared, columns }]),
    ];
  });
  const hash = {
    name: 'first',
    tables: ['/first'],
    subjects: ['role:bound'],
    columns: { email: { mask: 'sha256' } },
  };
  return JSON.stringify({ restrictions: [...bound, hash] });
}

/** Each request has a connection of its own, so that both processes answer. */
class ServedTables implements RestrictedTables {
  readonly #service: Service;
  readonly #bound: string;

  constructor(service: Service, bound: string) {
    this.#service = service;
    this.#bound = bound;
  }

  async send(
    table: string,
    action: string,
    body: object | Uint8Array,
    restrictions: Restrictions | null,
  ): Promise<{ readonly json: JsonValue }> {
    const reply = await this.#reply(table, action, body, restrictions);
    const json = (reply.text === '' ? null : reply.json) as JsonValue;
    if (reply.status < 300) return { json };
    const { code, error } = reply.json;
    throw Object.assign(new Error(String(error)), { row: { code } });
  }

  async told(
    table: string,
    action: 'query' | 'count_rows',
    body: object,
    restrictions: Restrictions | null,
  ): Promise<Told> {
    const reply = await this.#reply(table, action, body, restrictions);
    if (reply.status >= 300) {
      return { refused: `${String(reply.json['code'])} ${String(reply.json['error'])}` };
    }
    if (action === 'count_rows') return { count: reply.text };
    return { rows: rowsOf(tableFromIPC(reply.bytes)).map(plain) };
  }

  async index(table: string, column: string, index_type: string): Promise<void> {
    const made = await this.send(table, 'create_scalar_index', { column, index_type }, null);
    const { transaction_id: id } = made.json as { transaction_id: string };
    await waitUntil(async () => {
      const { json } = await send(this.#service.url, `POST /v1/transaction/${id}/describe`, {
        body: {},
      });
      expect(json['status']).not.toBe('FAILED');
      return json['status'] === 'SUCCEEDED';
    });
  }

  #reply(
    table: string,
    action: string,
    body: object | Uint8Array,
    restrictions: Restrictions | null,
  ): Promise<Reply> {
    return send(this.#service.url, `POST /v1/table/${table}/${action}`, {
      body,
      agent: new Agent(),
      key: restrictions === null ? ADMIN_KEY : this.#bound,
      ...(body instanceof Uint8Array && { headers: ARROW_STREAM }),
    });
  }
}

const lance = all.filter(({ table }) => table.startsWith('l')).map(({ table }) => `/${table}`);
const formats = [{ tables: lance, format: 'lance' }];
const config = `processes: 2\nworkers: 1\ntables: ${JSON.stringify({ formats })}\n`;

let service: Service;
let tables: ServedTables;
let secret: Uint8Array;

beforeAll(async () => {
  service = await Service.prepare({
    policy: 'p, role:admin, /**, *, allow\np, role:bound, /**, *, allow\n',
    config,
  });
  await writeFile(join(service.policies, 'restrictions.yaml'), restrictionsFile());
  await service.restart();
  tables = new ServedTables(service, await service.key('user:cle', 'role:bound'));
  await tables.send('first', 'create', streamOfRows(fc.sample(row(0), 1)), null);
  const nothing = { names: [], rows: [], columns: [] };
  await tables.told('first', 'query', { vector: [] }, nothing);
  secret = await readFile(join(service.data, 'private', 'mask-key'));
});

afterAll(async () => service?.stop());

it(`two processes answer as of a copy: ${TABLES * QUERIES} queries`, { timeout }, async () => {
  for (const pair of pairs) {
    await compareTable({ tables, secret, queries: QUERIES, changes: CHANGES }, pair);
  }
});

it(
  `two processes do so of Lance tables: ${LANCE_TABLES * QUERIES} queries`,
  { timeout },
  async () => {
    for (const pair of lancePairs) {
      await compareTable({ tables, secret, queries: QUERIES, changes: CHANGES }, pair);
    }
  },
);

it(
  `two processes do so where threads scan: ${(TABLES + LANCE_TABLES) * QUERIES} queries`,
  { timeout },
  async () => {
    await service.end();
    // Scans of more bytes than the cache has are work of threads.
    await service.configure(`${config}cache: { bytes: 0 }\n`);
    await service.restart();
    for (const pair of threadPairs) {
      await compareTable({ tables, secret, queries: QUERIES, changes: CHANGES }, pair);
    }
  },
);
