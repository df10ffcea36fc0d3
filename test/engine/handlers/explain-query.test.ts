import { Int64, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { anything } from '../../support/permit.ts';
import { ask, lancedb, requestOf } from '../../support/request.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await freshEngine();
  const body = tableToIPC(
    new Table({
      id: vectorFromArray([1n, 2n, 3n], new Int64()),
      name: vectorFromArray(['a', null, 'c'], new Utf8()),
    }),
    'stream',
  );
  await ask(engine.backend, 'POST /v1/table/t/create', { body });
  await ask(engine.backend, 'POST /v1/table/t/insert', { body });
});

afterAll(async () => engine.close());

const query = { k: 2, offset: 1, filter: 'id > 1', columns: { twice: 'id * 2' }, vector: [] };

describe('ExplainTableQueryPlan', () => {
  it('answers the steps as a JSON string, the last one first', async () => {
    const { json, contentType } = await ask(engine.backend, 'POST /v1/table/t/explain_plan', {
      body: { query, verbose: false },
    });
    expect(contentType).toBe('application/json');
    expect(json).toBe(
      [
        'Project: twice = id * 2',
        '  Window: offset 1, limit 2',
        '    Filter: id > 1',
        '      Scan: version 2, 2 of 2 files, 6 rows, columns id',
      ].join('\n'),
    );
  });

  it('tells types and what is skipped when it is asked for more, the query flat or nested', async () => {
    const flat = await ask(engine.backend, 'POST /v1/table/t/explain_plan/', {
      body: { k: 10, offset: 3, verbose: true },
      headers: lancedb,
    });
    expect(flat.json).toBe(
      [
        'Project: id, name',
        '  - id: int64',
        '  - name: utf8',
        '  Window: offset 0, limit 10',
        '    Scan: version 2, 1 of 2 files, 3 rows, columns id, name',
        '      - files skipped: 1',
        '      - read first: none',
      ].join('\n'),
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
    [{ query: { ...query, k: 0 } }, 13, /^k must/],
    [{ query: 'SELECT' }, 13, /query/],
  ])('refuses %j', async (body, code, sentence) => {
    const refused = ask(engine.backend, 'POST /v1/table/t/explain_plan', { body });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ row: { code } });
    expect(error).toHaveProperty('message', expect.stringMatching(sentence));
  });
});

describe('AnalyzeTableQueryPlan', () => {
  it('runs the query and says what was read and answered', async () => {
    const { json } = await ask(engine.backend, 'POST /v1/table/t/analyze_plan', { body: query });
    expect(json).toMatch(/^Project: twice = id \* 2 \[\d+ batches, 2 rows, \d+ bytes, [\d.]+ ms\]/);
    expect(json).toMatch(/Scan: version 2, 2 of 2 files, 6 rows, columns id \[2 batches, 6 rows, /);
  });
});
