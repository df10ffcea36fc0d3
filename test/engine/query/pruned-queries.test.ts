import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import {
  Field,
  Float64,
  Int64,
  Schema,
  Utf8,
  vectorFromArray,
  type RecordBatch,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { countRows } from '../../../src/engine/query/rows/count.ts';
import { writeDeletions } from '../../../src/engine/format/deletion-file.ts';
import { Flushes } from '../../../src/storage/flushes.ts';
import type { Snapshot } from '../../../src/engine/format/snapshot.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';
import { casesOf } from '../../support/cases.ts';

/* A query answers the same whether something is known of the files or nothing. */

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('f', new Float64(), true),
  new Field('word', new Utf8(), true),
  new Field('vec', vectorType(1), true),
]);

function batch(from: number): RecordBatch {
  const ids = [0, 1, 2, 3].map((id) => from + id);
  const floats = ids.map((id) => (id % 7 === 0 ? null : id % 11 === 0 ? NaN : id / 2));
  const words = ids.map((id) => (id % 5 === 0 ? null : `w${id % 9}`));
  const vectors = ids.map((id) => (id % 13 === 0 ? null : [id]));
  return batchOf(
    schema,
    [
      vectorFromArray(ids.map(BigInt), new Int64()),
      vectorFromArray(floats, new Float64()),
      vectorFromArray(words, new Utf8()),
      vectorsOf(1, vectors),
    ],
    4,
  );
}

let stored: StoredTable;
let snapshot: Snapshot;
let blind: Snapshot;

beforeAll(async () => {
  const file = (from: number) => [0, 4, 8, 12].map((more) => batch(from + more));
  stored = await storeTable(schema, [file(0), file(16), file(32)], 100n);
  const gone = [Uint32Array.of(1, 2, 4, 5, 6, 7, 15), Uint32Array.of(0, 9)];
  const [first, second] = await writeDeletions(stored.snapshot, gone, new Flushes());
  const deletions = [first, undefined, second];
  const fragments = stored.snapshot.fragments.map((fragment, at) => ({
    ...fragment,
    rows: fragment.physicalRows - (gone[[0, 2].indexOf(at)]?.length ?? 0),
    deletions: deletions[at]?.path ?? null,
    deletionsSeal: deletions[at]?.seal,
  }));
  const rows = fragments.reduce((sum, fragment) => sum + BigInt(fragment.rows), 0n);
  snapshot = { ...stored.snapshot, fragments, rows };
  blind = {
    ...snapshot,
    fragments: fragments.map((fragment) => ({
      ...fragment,
      files: fragment.files.map((each) => ({ ...each, statistics: undefined })),
    })),
  };
});

afterAll(() => stored.remove());

const numbers = fc.integer({ min: -2, max: 52 });
const operators = fc.constantFrom('=', '<', '<=', '>', '>=', '<>');
const leaves = fc.oneof(
  fc
    .tuple(fc.constantFrom('id', 'f', '_rowoffset'), operators, numbers)
    .map((all) => all.join(' ')),
  fc.tuple(operators, numbers).map(([operator, id]) => `_rowid ${operator} ${100 + id}`),
  fc.array(numbers, { minLength: 1, maxLength: 4 }).map((all) => `_rowoffset in (${all.join()})`),
  fc
    .array(numbers, { minLength: 1, maxLength: 4 })
    .map((all) => `_rowid in (${all.map((id) => 100 + id).join()})`),
  fc.constantFrom("word like 'w3%'", 'word is null', 'f is not null', "f = cast('nan' as double)"),
);
const filters = fc.oneof(
  leaves,
  fc.tuple(leaves, fc.constantFrom('and', 'or'), leaves).map((parts) => parts.join(' ')),
  leaves.map((leaf) => `not (${leaf})`),
);

const orders = fc.array(
  fc.record({
    column_name: fc.constantFrom('word', 'f', 'id', '_rowid', '_rowoffset'),
    ascending: fc.boolean(),
    nulls_first: fc.boolean(),
  }),
  { minLength: 1, maxLength: 2 },
);

const bodies = fc.record(
  {
    filter: filters,
    k: fc.integer({ min: 1, max: 50 }),
    offset: fc.nat(45),
    columns: fc.constantFrom<string[]>(
      ['id'],
      ['word', '_rowid', '_rowoffset'],
      ['_rowoffset', 'f', 'vec'],
      ['_rowid'],
    ),
    order_by: orders,
    with_row_id: fc.boolean(),
    vector: fc.constantFrom<JsonValue[]>([], [7], [30], [[3], [41]]),
    prefilter: fc.boolean(),
  },
  { requiredKeys: [] },
);

async function answered(table: Snapshot, body: Record<string, JsonValue>): Promise<string> {
  const rows = rowsOf(await answerOf({ snapshot: table, reader: stored.reader }, body));
  return JSON.stringify(rows, (_, value: unknown) =>
    typeof value === 'bigint' || Number.isNaN(value) ? `${String(value)}n` : value,
  );
}

it('a query answers the same rows in the same order', async () => {
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      expect(await answered(snapshot, body)).toBe(await answered(blind, body));
    }),
    { numRuns: casesOf(120, 400) },
  );
});

it('a count is the same', async () => {
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const known = await countRows(stored.reader, asVisible(snapshot), filter);
      expect(known).toBe(await countRows(stored.reader, asVisible(blind), filter));
    }),
    { numRuns: casesOf(120, 400) },
  );
});
