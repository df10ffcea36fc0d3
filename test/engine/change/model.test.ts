import * as fc from 'fast-check';
import { Int32, Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { freshEngine } from '../../support/engine.ts';
import { streamOf, TableClient } from '../../support/table-client.ts';
import { ModelTable, statements, type Counts, type Sent, type Statement } from './change-model.ts';
import { casesOf } from '../../support/cases.ts';

describe('a table that is changed', () => {
  it('has the rows and the row ids of the model after every statement, and in every version', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(statements, { minLength: 1, maxLength: 10 }), runBoth),
      { numRuns: casesOf(25, 60) },
    );
  });
});

async function runBoth(list: readonly Statement[]): Promise<void> {
  const engine = await freshEngine();
  const table = new TableClient(engine);
  const model = new ModelTable();
  const versions: (readonly string[])[] = [[]];
  try {
    await table.send('create', { body: stream([]) });
    for (const statement of list) {
      const expected = model.run(statement);
      expect(await run(table, statement), describeStatement(statement)).toEqual(expected);
      if (expected !== null) versions.push(modelRows(model));
      expect(await tableRows(table), describeStatement(statement)).toEqual(modelRows(model));
    }
    for (const [index, rows] of versions.entries()) {
      expect(await tableRows(table, index + 1)).toEqual(rows);
    }
  } finally {
    await engine.close();
  }
}

/** Runs a statement; null when it is refused as rows that match the same row are. */
async function run(table: TableClient, statement: Statement): Promise<Counts | null> {
  const none = { inserted: 0, updated: 0, removed: 0 };
  if (statement.kind === 'insert') {
    const { json } = await table.send('insert', { body: stream(statement.rows) });
    return { ...none, inserted: countOf(json, 'num_inserted_rows') };
  }
  if (statement.kind === 'delete') {
    const json = await table.json('delete', { predicate: statement.predicate.sql });
    return { ...none, removed: countOf(json, 'num_deleted_rows') };
  }
  if (statement.kind === 'update') {
    const updates = statement.values.map(({ column, sql }) => [column, sql]);
    const json = await table.json('update', { updates, predicate: statement.predicate?.sql });
    return { ...none, updated: countOf(json, 'updated_rows') };
  }
  return merge(table, statement);
}

async function merge(
  table: TableClient,
  statement: Extract<Statement, { kind: 'merge' }>,
): Promise<Counts | null> {
  const query = new URLSearchParams();
  for (const name of statement.on) query.append('on', name);
  query.set('when_matched_update_all', String(statement.update));
  query.set('when_not_matched_insert_all', String(statement.insert));
  query.set('when_not_matched_by_source_delete', String(statement.remove));
  if (statement.update && statement.greater) {
    query.set('when_matched_update_all_filt', 'source.n > target.n');
  }
  if (statement.remove && statement.removeIf !== null) {
    query.set('when_not_matched_by_source_delete_filt', statement.removeIf.sql);
  }
  const body = stream(statement.rows);
  const sent = await table
    .send(`merge_insert?${String(query)}`, { body })
    .catch((error: unknown) => {
      expect(error).toMatchObject({ message: expect.stringMatching('match the same row') });
      return null;
    });
  if (sent === null) return null;
  return {
    inserted: countOf(sent.json, 'num_inserted_rows'),
    updated: countOf(sent.json, 'num_updated_rows'),
    removed: countOf(sent.json, 'num_deleted_rows'),
  };
}

function countOf(json: unknown, name: string): number {
  return json instanceof Object && name in json ? Number(json[name as keyof typeof json]) : NaN;
}

function stream(rows: readonly Sent[]): Uint8Array {
  return streamOf({
    k: vectorFromArray(
      rows.map(({ k }) => (k === null ? null : BigInt(k))),
      new Int64(),
    ),
    s: vectorFromArray(
      rows.map(({ s }) => s),
      new Utf8(),
    ),
    n: vectorFromArray(
      rows.map(({ n }) => n),
      new Int32(),
    ),
  });
}

async function tableRows(table: TableClient, version?: number): Promise<readonly string[]> {
  const rows = await table.rows(version ?? null);
  return rows.map(({ _rowid, k, s, n }) => JSON.stringify([_rowid, k, s, n].map(shown))).toSorted();
}

function modelRows({ rows }: ModelTable): readonly string[] {
  return rows.map(({ rowId, k, s, n }) => JSON.stringify([rowId, k, s, n].map(shown))).toSorted();
}

function shown(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

function describeStatement(statement: Statement): string {
  return JSON.stringify(statement);
}
