import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VersionReader } from '../../../src/engine/catalog/records/version-reader.ts';
import { filesOf } from '../../../src/engine/catalog/records/version-walk.ts';
import { disk } from '../../support/disk.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { readManifestFile } from '../../support/manifest-file.ts';
import { streamOf, TableClient } from '../../support/table-client.ts';

let engine: TestEngine;
let table: TableClient;

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: rows(Array.from({ length: 40 }, (_, k) => [k, 0])) });
});

afterEach(async () => engine.close());

const upsert = 'merge_insert?on=k&when_matched_update_all=true&when_not_matched_insert_all=true';

describe('changes at the same time', () => {
  it('all take effect: updates, deletions and appends', async () => {
    const updates = Array.from({ length: 12 }, () => update('n + 1', 'k < 20'));
    const deletions = Array.from({ length: 10 }, (_, at) =>
      table.json('delete', { predicate: `k = ${20 + at}` }),
    );
    const appends = Array.from({ length: 10 }, (_, at) =>
      table.send('insert', { body: rows([[100 + at, 7]]) }),
    );
    await Promise.all([...updates, ...deletions, ...appends]);
    expect(await table.version()).toBe(33);
    expect(await pairs()).toEqual([
      ...Array.from({ length: 20 }, (_, k) => [k, 12]),
      ...Array.from({ length: 10 }, (_, at) => [30 + at, 0]),
      ...Array.from({ length: 10 }, (_, at) => [100 + at, 7]),
    ]);
    expect(await unnamed()).toEqual([]);
  });

  it('each find the rows that the others made: a key is never inserted twice', async () => {
    const merges = Array.from({ length: 16 }, (_, n) =>
      table.send(upsert, {
        body: rows([
          [500, n],
          [600 + (n % 4), n],
        ]),
      }),
    );
    const answers = await Promise.all(merges);
    const all = await pairs();
    expect(all.slice(40).map(([k]) => k)).toEqual([500, 600, 601, 602, 603]);
    const inserted = answers.map(({ json }) => Number(Object(json)['num_inserted_rows']));
    expect(inserted.reduce((sum, count) => sum + count, 0)).toBe(5);
    expect(await unnamed()).toEqual([]);
  });

  it('keep a row in one place when it is updated and deleted by several', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 4 === 3
          ? table.json('delete', { predicate: `k % 20 = ${at}` })
          : update(String(at), 'k < 30'),
      ),
    );
    const found = await table.rows();
    expect(new Set(found.map((row) => row['_rowid'])).size).toBe(found.length);
    expect(found.length).toBe(30);
    expect(await unnamed()).toEqual([]);
  });

  it('leave every version as it was', async () => {
    await Promise.all([
      ...Array.from({ length: 6 }, () => update('n + 1', null)),
      ...Array.from({ length: 6 }, (_, at) => table.send(upsert, { body: rows([[at, -1]]) })),
    ]);
    for (let version = 1; version <= 13; version++) {
      const found = await table.rows(version);
      expect(found.map((row) => row['_rowid']).toSorted(byNumber)).toEqual(
        Array.from({ length: 40 }, (_, id) => BigInt(id)),
      );
    }
  });
});

function update(expression: string, predicate: string | null) {
  return table.json('update', { updates: [['n', expression]], predicate });
}

function rows(values: readonly (readonly [number, number])[]): Uint8Array {
  return streamOf({
    k: vectorFromArray(
      values.map(([k]) => BigInt(k)),
      new Int64(),
    ),
    n: vectorFromArray(
      values.map(([, n]) => BigInt(n)),
      new Int64(),
    ),
  });
}

async function pairs(): Promise<readonly (readonly number[])[]> {
  return (await table.rows())
    .map(({ k, n }) => [Number(k), Number(n)])
    .toSorted((left, right) => left[0]! - right[0]!);
}

function byNumber(left: unknown, right: unknown): number {
  return Number(left) - Number(right);
}

/** The files beside manifests that no version names. */
async function unnamed(): Promise<readonly string[]> {
  const [id = ''] = await readdir(join(engine.data, 'tables'));
  const folder = join(engine.data, 'tables', id);
  const named = new Set<string>();
  const reader = new VersionReader(disk);
  for (const name of await readdir(join(folder, 'versions'))) {
    const manifest = await readManifestFile(folder, join('versions', name), reader);
    for (const file of filesOf(manifest)) named.add(file);
  }
  return (await table.files()).filter((file) => !file.startsWith('versions') && !named.has(file));
}
