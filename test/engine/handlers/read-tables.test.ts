import { unboundedBudget } from '../../../src/protocol/budget.ts';
import { Field, Int64, Schema, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import type { TableKind } from '../../../src/engine/format/records.ts';
import { countTableRows } from '../../../src/engine/handlers/rows/count-table-rows.ts';
import { queryTable, type TableReads } from '../../../src/engine/handlers/rows/table-reads.ts';
import type { Call } from '../../../src/engine/handlers/call/handler.ts';
import type { FoundSnapshot } from '../../../src/engine/format/snapshot.ts';
import type { Answer } from '../../../src/protocol/backend.ts';
import { CatalogError } from '../../../src/protocol/errors.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { operations } from '../../../src/protocol/operations/operations.ts';
import { memoryCatalog, plant } from '../../support/catalog.ts';
import { unrepeatable } from '../../../src/engine/once/once.ts';
import { anything } from '../../support/permit.ts';
import { bytesOf } from '../../support/query-answer.ts';
import { GivenTables } from '../../support/table-view.ts';
import { unbound } from '../../support/unbound.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';

const schema = new Schema([new Field('id', new Int64(), false)]);
const VALUES = [2n ** 53n + 1n, 5n, -1n];

let stored: StoredTable;
let reads: TableReads;

/** What the version was found by; nobody reads it here. */
const RECORD: FoundSnapshot['record'] = {
  key: 'V',
  value: new Uint8Array(),
  content: {
    version: 7n,
    timestampMillis: 0,
    manifest: 'm',
    staging: 's',
    manifestBytes: 1,
    metadata: {},
  },
};

beforeAll(async () => {
  const column = vectorFromArray(VALUES, new Int64());
  stored = await storeTable(schema, [[batchOf(schema, [column], VALUES.length)]]);
  const { catalog } = memoryCatalog();
  const kinds: readonly TableKind[] = ['engine', 'declared', 'lance'];
  for (const kind of kinds) await plant(catalog, ['shop', kind], kind);
  reads = {
    catalog,
    reader: stored.reader,
    maskSecret: () => Promise.reject(new Error('no test hashes')),
    tags: {
      require: async (_table, name) => {
        throw new CatalogError('TableTagNotFound', `the table has no tag "${name}"`);
      },
    },
    tables: {
      chain: (table, branch) => new GivenTables().chain(table, branch),
      async found(_table, version) {
        const { snapshot } = stored;
        if (version === undefined || version === 7n) return { snapshot, record: RECORD };
        throw new CatalogError('TableVersionNotFound', `the table has no version ${version}`);
      },
      version: async () => RECORD,
    },
  };
});

afterAll(() => stored.remove());

function callOf(
  body: Record<string, JsonValue>,
  name: 'engine' | 'declared' | 'lance' | 'missing' = 'engine',
  query: Record<string, string> = {},
): Call {
  return {
    request: {
      operation: operations.QueryTable,
      dialect: 'namespace',
      object: ['shop', name],
      delimiter: '$',
      query: new Map(Object.entries(query).map(([key, value]) => [key, [value]])),
      headers: {},
      context: new Map(),
      requestId: 'request-1',
      budget: unboundedBudget(),
      signal: () => new AbortController().signal,
      body: {
        [Symbol.asyncIterator]() {
          throw new Error('a handler does not read the body');
        },
      },
    },
    permit: anything(),
    rules: unbound(),
    body,
    once: unrepeatable,
  };
}

describe('QueryTable', () => {
  it('answers an Arrow file and the version it read', async () => {
    const answer = await queryTable(reads)(callOf({ filter: 'id > 0', version: 7 }));
    expect(answer).toMatchObject({
      status: 200,
      contentType: 'application/vnd.apache.arrow.file',
      headers: { 'x-lancedb-version': '7' },
    });
    const bytes = await bytesOf(answer.body);
    expect(Buffer.from(bytes.subarray(0, 6)).toString()).toBe('ARROW1');
    const table = tableFromIPC(bytes);
    expect([...table.getChildAt(0)!]).toEqual([2n ** 53n + 1n, 5n]);
    expect(answer.read?.rows()).toBe(2n);
  });

  it('answers the schema even when no row is found', async () => {
    const answer = await queryTable(reads)(callOf({ filter: 'false', with_row_id: true }));
    const table = tableFromIPC(await bytesOf(answer.body));
    expect(table.numRows).toBe(0);
    expect(table.schema.fields.map(({ name }) => name)).toEqual(['id', '_rowid']);
    expect(answer.read?.rows()).toBe(0n);
  });

  it('refuses what fails on a row of the first batch before anything is sent', async () => {
    const call = callOf({ columns: { double: 'id / 0' } });
    expect(await refusalOf(queryTable(reads)(call))).toMatch(/^InvalidInput: columns\.double: /);
  });
});

describe('CountTableRows', () => {
  it('answers a bare number and the version it read', async () => {
    const answer = await countTableRows(reads)(callOf({}));
    expect(answer).toMatchObject({
      status: 200,
      contentType: 'application/json',
      headers: { 'x-lancedb-version': '7' },
      body: '3',
      read: { columns: [], filter: null, version: 7n },
    });
    expect(answer.read?.rows()).toBe(0n);
  });

  it('counts the rows of which a predicate is true', async () => {
    const answer = await countTableRows(reads)(
      callOf({ predicate: 'id = 9007199254740993', version: 7 }),
    );
    expect(answer.body).toBe('1');
  });

  it('answers numbers beyond 2^53 exactly', async () => {
    const large = { ...stored.snapshot, rows: 2n ** 53n + 1n };
    const found = async () => ({ snapshot: large, record: RECORD });
    const tables = { ...reads.tables, found };
    const answer = await countTableRows({ ...reads, tables })(callOf({}));
    expect(answer.body).toBe('9007199254740993');
  });
});

const handlers: readonly (readonly [string, (call: Call) => Promise<Answer>])[] = [
  ['QueryTable', (call) => queryTable(reads)(call)],
  ['CountTableRows', (call) => countTableRows(reads)(call)],
];

describe.each(handlers)('%s refuses', (_, handle) => {
  const refusals: readonly (readonly [string, () => Call, string])[] = [
    [
      'a table that is not there',
      () => callOf({}, 'missing'),
      'TableNotFound: table /shop/missing does not exist',
    ],
    [
      'a table without data',
      () => callOf({}, 'declared'),
      'InvalidTableState: table /shop/declared is declared and has no data',
    ],
    [
      'a table that Lance clients write',
      () => callOf({}, 'lance'),
      'Unsupported: table /shop/lance is written by Lance clients: open it at its location',
    ],
    [
      'a version that is not there',
      () => callOf({ version: 9007199254740993n }),
      'TableVersionNotFound: the table has no version 9007199254740993',
    ],
    [
      'a branch in the body',
      () => callOf({ branch: 'dev' }),
      'TableBranchNotFound: the table has no branch "dev"',
    ],
    [
      'a branch in the query',
      () => callOf({}, 'engine', { branch: 'dev' }),
      'TableBranchNotFound: the table has no branch "dev"',
    ],
  ];
  it.each(refusals)('%s', async (_, call, sentence) => {
    expect(await refusalOf(handle(call()))).toBe(sentence);
  });
});

async function refusalOf(answer: Promise<Answer>): Promise<string> {
  const refused = await answer.then(
    () => null,
    (error: unknown) => error,
  );
  if (refused instanceof CatalogError) return `${refused.row.name}: ${refused.message}`;
  throw new Error(`not a refusal: ${String(refused)}`);
}
