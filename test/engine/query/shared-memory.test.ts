import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { Field, Float64, Int64, Schema, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { AnswerMemory } from '../../../src/engine/format/memory/answer-memory.ts';
import { rowsAnswer } from '../../../src/engine/query/plan/answer.ts';
import { countRows } from '../../../src/engine/query/rows/count.ts';
import { execute } from '../../../src/engine/query/execute.ts';
import { planQuery } from '../../../src/engine/query/plan/plan.ts';
import { parseQueryRequest } from '../../../src/engine/request/request.ts';
import type { ByteStream } from '../../../src/protocol/backend.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';

/* Memory that rows are read into is used again as soon as an answer has been sent: no answer may see another's bytes. */

const BATCH_ROWS = 12_000;
const BATCHES = 9;

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('name', new Utf8(), false),
  new Field('value', new Float64(), true),
  new Field('vec', vectorType(8), false),
]);

let stored: StoredTable;
const memory = new AnswerMemory(2 ** 26);

beforeAll(async () => {
  const batch = (index: number) => {
    const ids = Array.from({ length: BATCH_ROWS }, (_, row) => index * BATCH_ROWS + row);
    const columns = [
      vectorFromArray(ids.map(BigInt), new Int64()),
      vectorFromArray(
        ids.map((id) => `row ${id}`),
        new Utf8(),
      ),
      vectorFromArray(
        ids.map((id) => (id % 5 === 0 ? null : id / 2)),
        new Float64(),
      ),
      vectorsOf(
        8,
        ids.map((id) => Array.from({ length: 8 }, (_, at) => id + at)),
      ),
    ];
    return batchOf(schema, columns, ids.length);
  };
  const batches = Array.from({ length: BATCHES }, (_, index) => batch(index));
  stored = await storeTable(schema, [batches.slice(0, 4), batches.slice(4)]);
});

afterAll(() => stored.remove());

/** Sends an answer as a slow connection would: a piece is copied some time after the next ones were handed over. */
async function sent(body: ByteStream, late: number): Promise<Buffer> {
  const copies: Uint8Array[] = [];
  const waiting: Uint8Array[] = [];
  const takeOldest = () => {
    const piece = waiting.shift()!;
    copies.push(Uint8Array.from(piece));
    body.sent?.(piece);
  };
  for await (const piece of body) {
    waiting.push(piece);
    if (waiting.length > late) takeOldest();
    await turn();
  }
  while (waiting.length > 0) takeOldest();
  return Buffer.concat(copies);
}

async function answer(query: Record<string, JsonValue>, late: number): Promise<Buffer> {
  const { snapshot, reader } = stored;
  const plan = planQuery(parseQueryRequest(query), asVisible(snapshot));
  const { body } = await rowsAnswer({
    schema: plan.schema,
    batches: execute(plan, reader),
    memory,
    isCached: (columns) => reader.isCached(columns),
    version: snapshot.version,
    signal: new AbortController().signal,
    giveBack: (columns) => reader.giveBack(columns),
  });
  if (body === null || typeof body === 'string') throw new Error('the body is not in pieces');
  return sent(body, late);
}

const queries: Readonly<Record<string, Record<string, JsonValue>>> = {
  'all rows': {},
  'two columns': { columns: ['name', 'id'] },
  'a column under two names': { columns: { one: 'id', two: 'id' } },
  'a window': { k: 30_000, offset: 20_005 },
  'rows of a filter': { filter: 'value > 100 and id % 3 = 1', columns: ['id', 'name', 'vec'] },
  'nearly all rows': { filter: 'id >= 5' },
  'an expression': { columns: { twice: 'id * 2', same: 'name' } },
  'rows in order': { order_by: [{ column_name: 'value', ascending: false }], k: 500 },
  'the nearest': { vector: { single_vector: Array(8).fill(70_000) }, k: 50 },
  'the nearest of some': {
    vector: { single_vector: Array(8).fill(5) },
    k: 50,
    filter: 'id % 10 = 3',
  },
};

describe('answers that are sent at the same time', () => {
  it('hold what each holds when it is sent alone', async () => {
    const names = Object.keys(queries);
    const alone = new Map<string, Buffer>();
    for (const name of names) alone.set(name, await answer(queries[name]!, 0));
    const expected = await countRows(stored.reader, asVisible(stored.snapshot), 'value > 100');
    const rounds = names.flatMap((name) => [0, 3, 40].map((late) => ({ name, late })));
    const counts = rounds.map(() =>
      countRows(stored.reader, asVisible(stored.snapshot), 'value > 100'),
    );
    const together = await Promise.all(
      rounds.map(async ({ name, late }) => ({ name, found: await answer(queries[name]!, late) })),
    );
    for (const { name, found } of together) expect(found.equals(alone.get(name)!), name).toBe(true);
    expect(new Set(await Promise.all(counts))).toEqual(new Set([expected]));
  });
});
