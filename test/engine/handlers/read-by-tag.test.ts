import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { ask } from '../../support/request.ts';
import { streamOf, TableClient } from '../../support/table-client.ts';

let engine: TestEngine;

beforeEach(async () => {
  engine = await freshEngine();
  const table = new TableClient(engine);
  await table.send('create', { body: numbers(1n, 2n) });
  await table.send('insert', { body: numbers(3n) });
  await table.json('tags/create', { tag: 'first', version: 1 });
  await table.json('branches/create', { name: 'b' });
  await table.json('delete', { predicate: 'n = 1', branch: 'b' });
  await table.json('tags/create', { tag: 'other', version: 3, branch: 'b' });
});

afterEach(() => engine.close());

function numbers(...values: readonly bigint[]): Uint8Array {
  return streamOf({ n: vectorFromArray([...values], new Int64()) });
}

async function told(action: string, body: object): Promise<unknown> {
  return (await ask(engine.backend, `POST /v1/table/t/${action}`, { body })).json;
}

describe('a tag', () => {
  it('names the version whose rows are counted', async () => {
    expect(await told('count_rows', {})).toBe(3);
    expect(await told('count_rows', { tag: 'first' })).toBe(2);
    expect(await told('count_rows', { tag: 'other' })).toBe(2);
    expect(await told('count_rows', { tag: 'other', predicate: 'n = 3' })).toBe(1);
  });

  it('names the version of statistics and plans', async () => {
    expect(await told('stats', { tag: 'first' })).toMatchObject({ num_rows: 2 });
    expect(await told('stats', { version: 1 })).toMatchObject({ num_rows: 2 });
    const query = { k: 9, vector: [], tag: 'first' };
    expect(await told('explain_plan', { query })).toMatch(/version 1\b/);
    expect(await told('analyze_plan', query)).toMatch(/version 1\b/);
  });

  it('has to agree with the version and the branch beside it', async () => {
    const differ = [
      [{ tag: 'first', version: 2 }, 'the tag "first" names version 1, not version 2'],
      [
        { tag: 'other', branch: 'main' },
        'the tag "other" names a version of the branch "b", not of "main"',
      ],
    ] as const;
    for (const [body, message] of differ) {
      for (const action of ['count_rows', 'stats', 'query']) {
        await expect(told(action, { k: 1, vector: [], ...body })).rejects.toThrow(message);
      }
    }
  });
});
