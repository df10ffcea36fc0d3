import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC, type Table, type Vector } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../arrow/support.ts';
import { Service } from '../support/service.ts';
import { filesUnder } from './files.ts';
import { LANCEDB, send, type Reply } from './http.ts';
import { randomOf, type Random } from './random.ts';
import { casesOf } from '../support/cases.ts';

/** Set the variable to look for more. */
const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? 20_261_120);
/** Requests of each kind with each stream. */
const ROUNDS = casesOf(48, 135);

const names = ['scalars', 'nested', 'scalars-lz4', 'nested-lz4', 'scalars-zstd', 'lancedb-create'];

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

/** One way to damage a stream. */
type Damage = (bytes: Uint8Array, random: Random) => Uint8Array;

const damages: readonly Damage[] = [
  (bytes, random) => bytes.subarray(0, random(bytes.length)),
  (bytes, random) => flipped(bytes, random, 1),
  (bytes, random) => flipped(bytes, random, 2 + random(6)),
  // Most of what decides lies at the front: the schema, and the metadata of the first batch.
  (bytes, random) => flipped(bytes, random, 1, Math.min(bytes.length, 2048)),
  (bytes, random) => {
    const copy = bytes.slice();
    copy.fill([0, 0x7f, 0x80, 0xff][random(4)]!, ...stretch(bytes.length, random));
    return copy;
  },
  (bytes, random) => {
    const [start, end] = stretch(bytes.length, random);
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
  },
];

function flipped(
  bytes: Uint8Array,
  random: Random,
  count: number,
  within = bytes.length,
): Uint8Array {
  const copy = bytes.slice();
  for (let flip = 0; flip < count; flip++) copy[random(within)]! ^= 1 << random(8);
  return copy;
}

/** The bounds of a few bytes. */
function stretch(length: number, random: Random): [number, number] {
  const start = random(length);
  return [start, Math.min(length, start + 1 + random(16))];
}

/** A refusal is an error of the protocol, never one of the program. */
function expectRefusal(reply: Reply): void {
  expect([400, 406, 409]).toContain(reply.status);
  expect(reply.json).toEqual({
    error: expect.stringMatching(/^.{10,}/s),
    code: expect.any(Number),
    instance: reply.headers['x-request-id'],
  });
}

/** Asks for rows and touches every value of the answer. */
async function readBack(table: string, offset: number): Promise<number> {
  const reply = await send(service.url, `POST /v1/table/${table}/query`, {
    body: { k: Number.MAX_SAFE_INTEGER, offset, vector: [] },
  });
  expect([reply.status, reply.status === 200 ? '' : reply.text]).toEqual([200, '']);
  const found: Table = tableFromIPC(reply.bytes);
  for (const field of found.schema.fields.keys()) {
    const column = found.getChildAt(field)!;
    for (let row = 0; row < column.length; row++) touch(column, row);
  }
  return found.numRows;
}

/** Reads one value. The package gives times as numbers, and refuses those that no number can hold. */
function touch(column: Vector, row: number): void {
  try {
    String(column.get(row));
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes('not safe to convert'))
      throw error;
  }
}

async function countOf(table: string): Promise<number> {
  const reply = await send(service.url, `GET /v1/table/${table}/count_rows`);
  expect(reply.status).toBe(200);
  return Number(reply.text);
}

const folders = async (): Promise<readonly string[]> => readdir(join(service.data, 'tables'));

/** Sends damaged streams that would make new tables. Answers how many did. */
async function fuzzCreate(name: string, random: Random): Promise<number> {
  const bytes = fixture(name);
  let made = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = await folders();
    const table = `made-${name}-${round}`;
    const body = damages[round % damages.length]!(bytes, random);
    const reply = await send(service.url, `POST /v1/table/${table}/create`, { body });
    if (reply.status !== 200) {
      expectRefusal(reply);
      expect(await folders()).toEqual(before);
      continue;
    }
    made++;
    expect(await readBack(table, 0)).toBe(await countOf(table));
    for (const headers of [{}, LANCEDB]) {
      const described = await send(service.url, `POST /v1/table/${table}/describe`, { headers });
      expect([described.status, described.json['version']]).toEqual([200, 1]);
    }
  }
  return made;
}

/** Sends damaged streams of rows for a table that is there. Answers how many it took. */
async function fuzzInsert(name: string, random: Random): Promise<number> {
  const bytes = fixture(name);
  const table = `there-${name}`;
  const known = await folders();
  const made = await send(service.url, `POST /v1/table/${table}/create`, { body: bytes });
  expect(made.status).toBe(200);
  const folder = (await folders()).find((id) => !known.includes(id))!;
  let rows = await countOf(table);
  let taken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = await filesUnder(join(service.data, 'tables', folder));
    const body = damages[round % damages.length]!(bytes, random);
    const reply = await send(service.url, `POST /v1/table/${table}/insert`, { body });
    if (reply.status !== 200) {
      expectRefusal(reply);
      expect(await filesUnder(join(service.data, 'tables', folder))).toEqual(before);
      continue;
    }
    taken++;
    const added = await readBack(table, rows);
    expect(added).toBe(reply.json['num_inserted_rows']);
    rows += added;
  }
  expect(await countOf(table)).toBe(rows);
  return taken;
}

describe.each(names)(`damaged streams of %s (seed ${SEED})`, (name) => {
  it('make a table whole or not at all', async () => {
    const made = await fuzzCreate(name, randomOf(SEED));
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(ROUNDS);
  });

  it('are inserted whole or not at all', async () => {
    const taken = await fuzzInsert(name, randomOf(SEED + 1));
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(ROUNDS);
    expect((await send(service.url, 'GET /healthz')).status).toBe(200);
  });
});
