import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tableKey } from '../../../src/engine/catalog/records/keys.ts';
import { decodeTable } from '../../../src/engine/catalog/records/records-codec.ts';
import { VersionReader } from '../../../src/engine/catalog/records/version-reader.ts';
import { everyVersion } from '../../../src/engine/catalog/records/version-walk.ts';
import { casesOf } from '../../support/cases.ts';
import { disk } from '../../support/disk.ts';
import { collect, tableFiles } from '../../support/dropped.ts';
import { EngineTable, streamOf, type Columns } from '../../support/engine-table.ts';
import { eventually } from '../../support/eventually.ts';
import { ask } from '../../support/request.ts';

const INSERTS = casesOf(360, 20_000);
const TIMEOUT = casesOf(240_000, 7_200_000);
const HOURS = 24;
const HOUR = 3_600_000;
const policy = { keepForMillis: HOUR, keepLast: 20 };
/** Six sizes of fragments, with fewer than 32 of each. */
const MOST_FRAGMENTS = 6 * 32;

let table: EngineTable;
let now: number;

beforeEach(async () => {
  now = Date.now();
  table = await EngineTable.open({ clock: () => now, arrowBody: null });
  table.engine.startWork(() => undefined);
});

afterEach(() => table.close());

const rowsOf = (numbers: readonly number[]): Columns => ({
  n: vectorFromArray(numbers.map(BigInt), new Int64()),
  name: vectorFromArray(
    numbers.map((n) => `name ${n}`),
    new Utf8(),
  ),
});

interface Files {
  /** In the table's folder. */
  readonly present: ReadonlySet<string>;
  /** Named by a version. */
  readonly named: ReadonlySet<string>;
  /** Named by the newest version. */
  readonly newest: ReadonlySet<string>;
  readonly versions: number;
}

async function idOf(name: string): Promise<string> {
  return decodeTable((await table.engine.store.get(tableKey([name])))!).id;
}

async function filesOf(id: string): Promise<Files> {
  const folder = join(table.engine.data, 'tables', id);
  const reader = new VersionReader(disk);
  const sets: ReadonlySet<string>[] = [];
  // Newest first.
  for await (const { record } of everyVersion(table.engine.store, id)) {
    sets.push(new Set([record.manifest, ...(await reader.named(folder, record))]));
  }
  const all = await tableFiles(table.engine.data);
  return {
    present: new Set(
      all.filter((path) => path.startsWith(id)).map((path) => path.slice(id.length + 1)),
    ),
    named: new Set(sets.flatMap((set) => [...set])),
    newest: sets[0] ?? new Set(),
    versions: sets.length,
  };
}

async function bytesOf(id: string, files: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const file of files) {
    bytes += (await stat(join(table.engine.data, 'tables', id, file))).size;
  }
  return bytes;
}

/** The files after a collection, once no merge is in flight. */
async function collected(id: string): Promise<Files> {
  return eventually(async () => {
    await collect(table.engine, { expiry: { policy } });
    const files = await filesOf(id);
    expect(files.present).toEqual(files.named);
    expect(files.newest.size).toBeLessThanOrEqual(MOST_FRAGMENTS + 1);
    return files;
  });
}

it(
  'keeps a table of small inserts as small as a new one and the versions that the policy keeps',
  async () => {
    await table.create(rowsOf([0]));
    const id = await idOf('t');
    const all = [0];
    const hourly = INSERTS / HOURS;
    for (let hour = 1; hour <= HOURS; hour++) {
      for (let at = 0; at < hourly; at++) {
        now += HOUR / hourly;
        const some = Array.from({ length: 1 + (at % 10) }, (_, index) => all.length + index);
        all.push(...some);
        await table.send('insert', { body: streamOf(rowsOf(some)) });
      }
      const files = await collected(id);
      // Those of an hour, of which each 31st is a merge.
      expect(files.versions).toBeLessThanOrEqual(2 + Math.max(policy.keepLast, (hourly * 32) / 31));
      // Each has a manifest, a file of its rows, and its share of the merges.
      expect(files.present.size).toBeLessThanOrEqual(MOST_FRAGMENTS + 3 * files.versions);
    }
    now += 2 * HOUR;
    const { present, newest, versions } = await collected(id);
    expect(versions).toBe(policy.keepLast);
    const body = streamOf(rowsOf(all));
    await ask(table.engine.backend, 'POST /v1/table/fresh/create', { body });
    const fresh = await idOf('fresh');
    const freshFiles = (await filesOf(fresh)).present;
    expect(await bytesOf(id, newest)).toBeLessThan(4 * (await bytesOf(fresh, freshFiles)));
    const older = [...present].filter((file) => !newest.has(file));
    expect(older.length).toBeLessThanOrEqual(3 * versions);
    expect(await table.column('n')).toEqual(all.map(BigInt));
    expect((await table.engine.upkeep!.verifier.verify()).findings).toEqual([]);
  },
  TIMEOUT,
);
