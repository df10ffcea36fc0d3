import { Int64, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../src/protocol/json.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { freshEngine, type TestEngine } from '../../../support/engine.ts';
import { anything } from '../../../support/permit.ts';
import { ask, lancedb, requestOf } from '../../../support/request.ts';
import { vectorsOf } from '../../../support/vector-column.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await freshEngine();
  const part = (from: number) => {
    const ids = [0, 1, 2, 3].map((id) => from + id);
    return new Table({
      id: vectorFromArray(ids.map(BigInt), new Int64()),
      name: vectorFromArray(['d', null, 'b', 'a'], new Utf8()),
      vec: vectorsOf(
        2,
        ids.map((id) => [id, 0]),
      ),
    });
  };
  for (const [action, from] of [
    ['create', 0],
    ['insert', 4],
    ['insert', 8],
  ] as const) {
    const body = tableToIPC(part(from), 'stream');
    await ask(engine.backend, `POST /v1/table/t/${action}`, { body });
  }
});

afterAll(async () => engine.close());

const query = { k: 2, offset: 1, filter: 'id > 5', columns: { twice: 'id * 2' }, vector: [] };

async function explained(asked: object, verbose = false): Promise<JsonValue> {
  const body = { query: { vector: [], ...asked }, verbose };
  return (await ask(engine.backend, 'POST /v1/table/t/explain_plan', { body })).json;
}

function lines(...text: readonly string[]): string {
  return text.join('\n');
}

describe('ExplainTableQueryPlan', () => {
  it('answers the steps as a JSON string, the last one first', async () => {
    const { json, contentType } = await ask(engine.backend, 'POST /v1/table/t/explain_plan', {
      body: { query, verbose: false },
    });
    expect(contentType).toBe('application/json');
    expect(json).toBe(
      lines(
        'Project: twice = id * 2',
        '  Window: offset 1, limit 2',
        '    Filter: id > 5',
        '      Scan: version 3, 2 of 3 files, 2 of 3 batches, 8 rows, columns id',
      ),
    );
  });

  it('tells types, what the scan is pruned by and what it skips when it is asked for more', async () => {
    expect(await explained(query, true)).toBe(
      lines(
        'Project: twice = id * 2',
        '  - twice: int64',
        '  Window: offset 1, limit 2',
        '    Filter: id > 5',
        '      - reads id',
        '      Scan: version 3, 2 of 3 files, 2 of 3 batches, 8 rows, columns id',
        '        - files skipped: 1 of 3',
        '        - batches skipped: 1 of 3',
        '        - pruned by: id > 5',
        '        - rows known to pass: 4',
        '        - id: int64',
      ),
    );
  });

  it('takes the query flat, too, and skips files before the offset and behind the limit', async () => {
    const flat = await ask(engine.backend, 'POST /v1/table/t/explain_plan/', {
      body: { k: 2, offset: 5, columns: ['id', 'name'], verbose: true },
      headers: lancedb,
    });
    expect(flat.json).toBe(
      lines(
        'Project: id, name',
        '  - id: int64',
        '  - name: utf8',
        '  Window: offset 1, limit 2',
        '    Scan: version 3, 1 of 3 files, 1 of 3 batches, 4 rows, columns id, name',
        '      - files skipped: 2 of 3',
        '      - batches skipped: 2 of 3',
        '      - id: int64',
        '      - name: utf8',
      ),
    );
  });

  it.each([{}, { verbose: true }, { branch: 'main', context: {} }, { query: null }])(
    'refuses a body that asks no query: %j',
    async (body) => {
      const refused = ask(engine.backend, 'POST /v1/table/t/explain_plan', { body });
      expect(await refusalOf(refused)).toBe(
        '13 InvalidInput: ExplainTableQueryPlanRequest: the field "query" is missing',
      );
    },
  );

  it.each([
    ['id > 3', 'true of every row', '2 of 3 files, 2 of 3 batches, 8 rows'],
    ['id > 300', 'true of no row', '0 of 3 files, 0 of 3 batches, 0 rows'],
  ])('says where nothing is left to judge: %s', async (filter, known, scanned) => {
    expect(await explained({ filter, columns: ['name'] })).toBe(
      lines(
        'Project: name',
        '  Window: offset 0, limit none',
        `    Filter: ${filter} (${known})`,
        `      Scan: version 3, ${scanned}, columns name`,
      ),
    );
  });

  it('shows what is read only of rows that are still there', async () => {
    const order_by = [{ column_name: 'name', nulls_first: true }];
    expect(await explained({ filter: 'id < 6', order_by, k: 3, columns: ['id'] })).toBe(
      lines(
        'Project: id',
        '  Read: columns name, id',
        '    Window: offset 0, limit 3',
        '      Sort: name ascending nulls first',
        '        Filter: id < 6',
        '          Scan: version 3, 2 of 3 files, 2 of 3 batches, 8 rows, columns id',
      ),
    );
  });

  it('shows a search with the filter before it', async () => {
    const search = { vector: [5, 0], k: 4, filter: 'id < 6', columns: ['name'] };
    expect(await explained(search)).toBe(
      lines(
        'Project: name, _distance',
        '  Read: columns vec, name',
        '    Window: offset 0, limit 4',
        '      Nearest: vec by l2, 1 vectors of 2, keeps 4',
        '        Filter: id < 6',
        '          Scan: version 3, 2 of 3 files, 2 of 3 batches, 8 rows, columns id',
      ),
    );
  });

  it('shows a search with the filter and an order behind it', async () => {
    const order_by = [{ column_name: 'name' }, { column_name: '_distance', ascending: false }];
    const filter = '_distance < 3';
    const search = { vector: [5, 0], k: 4, filter, prefilter: false, order_by, columns: ['id'] };
    expect(await explained(search, true)).toBe(
      lines(
        'Project: id, _distance',
        '  - id: int64',
        '  - _distance: float32',
        '  Window: offset 0, limit 4',
        '    Sort: name ascending nulls last, _distance descending nulls first',
        '      - name: utf8',
        '      - _distance: float32',
        '      Filter: _distance < 3 (behind the search)',
        '        - reads _distance',
        '        Read: columns name, id',
        '          - id: int64',
        '          - name: utf8',
        '          Nearest: vec by l2, 1 vectors of 2, keeps 4',
        '            - type fixed_size_list<float32>[2]',
        '            - lower bound none, upper bound none',
        '            - exact: every vector is compared',
        '            Scan: version 3, 3 of 3 files, 3 of 3 batches, 12 rows, columns vec',
        '              - files skipped: 0 of 3',
        '              - batches skipped: 0 of 3',
        '              - vec: fixed_size_list<float32>[2]',
      ),
    );
  });

  it('answers bare text to a client that takes nothing else', async () => {
    const request = requestOf('POST /v1/table/t/explain_plan', {
      body: { query },
      headers: { accept: 'text/plain' },
    });
    const answer = await engine.backend.handle(request, anything());
    expect(answer.contentType).toBe('text/plain; charset=utf-8');
    expect(answer.body).toMatch(/^Project: /);
  });

  it.each([
    [{ query: { ...query, filter: 'nope > 1' } }, 12, /^filter: /],
    [{ query: { ...query, k: -2 } }, 13, /^k must/],
    [{ query: 'SELECT' }, 13, /query/],
  ])('refuses %j', async (body, code, sentence) => {
    const refused = ask(engine.backend, 'POST /v1/table/t/explain_plan', { body });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ row: { code } });
    expect(error).toHaveProperty('message', expect.stringMatching(sentence));
  });
});

/** The plan of a query that was run, its steps alone, without times. */
async function analyzed(body: object): Promise<readonly string[]> {
  const { json } = await ask(engine.backend, 'POST /v1/table/t/analyze_plan', { body });
  if (typeof json !== 'string') throw new Error('the plan is no text');
  const steps = json.split('\n').filter((line) => !line.trim().startsWith('- '));
  expect(steps.every((line) => / [\d.]+ ms\]$/.test(line))).toBe(true);
  return steps.map((line) => line.trim().replace(/, [\d.]+ ms\]$/, ']'));
}

describe('AnalyzeTableQueryPlan', () => {
  it('runs the query and says of each step which rows came and went, and what it read', async () => {
    expect(await analyzed(query)).toEqual([
      'Project: twice = id * 2 [2 rows in, 2 rows out, 2 batches, 16 bytes]',
      'Window: offset 1, limit 2 [6 rows in, 2 rows out, 2 batches, 0 bytes]',
      'Filter: id > 5 [8 rows in, 6 rows out, 2 batches, 0 bytes]',
      'Scan: version 3, 2 of 3 files, 2 of 3 batches, 8 rows, columns id [12 rows in, 8 rows out, 2 batches, 64 bytes]',
    ]);
  });

  it('tells the later reads, the search and the sort', async () => {
    const order_by = [{ column_name: 'name' }];
    const search = { vector: [5, 0], k: 3, filter: 'id < 6', order_by, columns: ['id'] };
    expect(await analyzed({ query: search })).toEqual([
      'Project: id, _distance [3 rows in, 3 rows out, 1 batch, 36 bytes]',
      expect.stringMatching(
        /^Read: columns name, vec, id \[\d+ rows in, \d+ rows out, \d batches, \d+ bytes\]$/,
      ),
      'Window: offset 0, limit 3 [3 rows in, 3 rows out, 1 batch, 0 bytes]',
      'Sort: name ascending nulls last [3 rows in, 3 rows out, 1 batch, 0 bytes]',
      'Nearest: vec by l2, 1 vectors of 2, keeps 3 [6 rows in, 3 rows out, 2 batches, 0 bytes]',
      'Filter: id < 6 [8 rows in, 6 rows out, 2 batches, 0 bytes]',
      'Scan: version 3, 2 of 3 files, 2 of 3 batches, 8 rows, columns id [12 rows in, 8 rows out, 2 batches, 64 bytes]',
    ]);
  });

  it('reads no more once it has its rows', async () => {
    const some = { vector: [], filter: "name || '' = 'd'", k: 1, columns: ['id'] };
    const [, , , , scan] = await analyzed(some);
    expect(scan).toMatch(/3 of 3 files.* \[12 rows in, 4 rows out, 1 batch, /);
  });
});
