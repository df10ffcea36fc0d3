import {
  Int64,
  Table,
  tableFromIPC,
  tableToIPC,
  Uint64,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;
/** The first whole number that a double cannot hold. */
const BEYOND = 2n ** 53n + 1n;

/** The one row that a filter keeps is told by its name, never by its number. */
const rows = [
  { name: 'least', signed: INT64_MIN, unsigned: 0n },
  { name: 'below', signed: -BEYOND, unsigned: BEYOND - 1n },
  { name: 'zero', signed: 0n, unsigned: BEYOND },
  { name: 'above', signed: BEYOND, unsigned: BEYOND + 1n },
  { name: 'next', signed: BEYOND + 1n, unsigned: UINT64_MAX - 1n },
  { name: 'most', signed: INT64_MAX, unsigned: UINT64_MAX },
];

let service: Service;
beforeAll(async () => {
  service = await Service.start();
  const table = new Table({
    name: vectorFromArray(
      rows.map((row) => row.name),
      new Utf8(),
    ),
    signed: vectorFromArray(
      rows.map((row) => row.signed),
      new Int64(),
    ),
    unsigned: vectorFromArray(
      rows.map((row) => row.unsigned),
      new Uint64(),
    ),
  });
  const body = tableToIPC(table, 'stream');
  expect((await send(service.url, 'POST /v1/table/t/create', { body })).status).toBe(200);
});
afterAll(() => service.stop());

/** Sends a body as it stands: a number in it never passes through this process as one. */
async function ask(operation: string, body: string): Promise<Reply> {
  return send(service.url, `POST /v1/table/t/${operation}`, { body });
}

async function query(body: string): Promise<Table> {
  const reply = await ask('query', body);
  if (reply.status !== 200) throw new Error(reply.text);
  return tableFromIPC(reply.bytes);
}

async function names(body: string): Promise<unknown[]> {
  return valuesOf((await query(body)).getChild('name'));
}

function valuesOf(column: Vector | null): unknown[] {
  return column === null ? ['no column'] : [...column];
}

describe('whole numbers beyond 2^53', () => {
  it('come back as they were inserted', async () => {
    const found = await query('{"k":10,"vector":[]}');
    expect(valuesOf(found.getChild('signed'))).toEqual(rows.map((row) => row.signed));
    expect(valuesOf(found.getChild('unsigned'))).toEqual(rows.map((row) => row.unsigned));
  });

  it.each(['9223372036854775807', '9223372036854775808', '18446744073709551615', '-1'])(
    'as k mean no limit: %s',
    async (k) => {
      expect(await names(`{"k":${k},"vector":[]}`)).toEqual(rows.map((row) => row.name));
      expect(await names(`{"k":${k},"vector":{"single_vector":[]}}`)).toHaveLength(rows.length);
    },
  );

  it.each([
    [`signed = ${INT64_MIN}`, ['least']],
    [`signed = ${INT64_MAX}`, ['most']],
    [`signed = ${INT64_MAX - 1n}`, []],
    [`signed = ${BEYOND}`, ['above']],
    [`signed > ${BEYOND}`, ['next', 'most']],
    [`signed < ${-BEYOND}`, ['least']],
    [`signed <= ${-BEYOND}`, ['least', 'below']],
    [`signed IN (${BEYOND}, ${INT64_MAX})`, ['above', 'most']],
    [`signed BETWEEN ${BEYOND} AND ${BEYOND}`, ['above']],
    [`signed % 10 = 3`, ['above']],
    [`unsigned = ${UINT64_MAX}`, ['most']],
    [`unsigned = ${BEYOND}`, ['zero']],
    [`unsigned >= ${UINT64_MAX - 1n}`, ['next', 'most']],
    [`unsigned > ${INT64_MAX}`, ['next', 'most']],
    [`unsigned > -1`, rows.map((row) => row.name)],
    [`unsigned = ${BEYOND} + 1`, ['above']],
    [`signed = unsigned`, []],
  ])('are told apart by a filter: %s', async (filter, expected) => {
    expect(await names(JSON.stringify({ k: 10, vector: [], filter }))).toEqual(expected);
    const count = await ask('count_rows', JSON.stringify({ predicate: filter }));
    expect(count.text).toBe(String(expected.length));
  });

  it('are computed exactly', async () => {
    const found = await query(
      JSON.stringify({
        k: 10,
        vector: [],
        columns: { next: 'signed + 1' },
        filter: `signed = ${BEYOND}`,
      }),
    );
    expect(valuesOf(found.getChild('next'))).toEqual([BEYOND + 1n]);
  });

  it('are refused where a sum does not fit', async () => {
    const body = JSON.stringify({ k: 10, vector: [], columns: { next: 'signed + 1' } });
    const reply = await ask('query', body);
    expect([reply.status, reply.json['code']]).toEqual([400, 13]);
  });

  it('sort by their values', async () => {
    const body = { k: 10, vector: [], order_by: [{ column_name: 'unsigned', ascending: false }] };
    expect(await names(JSON.stringify(body))).toEqual(rows.map((row) => row.name).reverse());
  });

  it.each(['9007199254740993', '9223372036854775807', '18446744073709551615'])(
    'as an offset lie behind every row: %s',
    async (offset) => {
      expect(await names(`{"k":9223372036854775807,"offset":${offset},"vector":[]}`)).toEqual([]);
    },
  );

  it('as row ids are kept apart in a filter', async () => {
    const found = await query('{"k":10,"vector":[],"with_row_id":true,"filter":"_rowid = 2"}');
    expect(String(found.getChild('_rowid')?.type)).toBe('Uint64');
    expect(valuesOf(found.getChild('_rowid'))).toEqual([2n]);
    expect(await names(`{"k":10,"vector":[],"filter":"_rowid = ${2n ** 53n + 2n}"}`)).toEqual([]);
    expect(await names(`{"k":10,"vector":[],"filter":"_rowid IN (1, ${UINT64_MAX})"}`)).toEqual([
      'below',
    ]);
    expect(await names(`{"k":10,"vector":[],"filter":"_rowoffset > ${BEYOND}"}`)).toEqual([]);
  });

  it.each(['9007199254740993', '9223372036854775807'])(
    'as a version are named in the refusal: %s',
    async (version) => {
      for (const operation of ['describe', 'query', 'count_rows', 'exists']) {
        const reply = await ask(operation, `{"version":${version},"k":1,"vector":[]}`);
        expect([reply.status, reply.json['code']]).toEqual([404, 11]);
        expect(reply.json['error']).toBe(`the table has no version ${version}`);
      }
    },
  );

  it.each(['18446744073709551616', '1e30', '-9223372036854775809'])(
    'that fit no 64 bits are refused: %s',
    async (version) => {
      const reply = await ask('describe', `{"version":${version}}`);
      expect([reply.status, reply.json['code']]).toEqual([400, 13]);
    },
  );
});
