import { randomUUID } from 'node:crypto';
import {
  Bool,
  Field,
  Float64,
  Int32,
  Int64,
  Schema,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodeList,
  decodeManifest,
  encodeManifest,
  type Manifest,
  type NamedList,
} from '../../../src/engine/format/manifest.ts';
import type { Fragment } from '../../../src/engine/format/snapshot.ts';
import { casesOf } from '../../support/cases.ts';

const seal = 'AAECAwQFBgcICQoLDA0ODxAREhM';
/** A block of a disk, in bytes. */
const BLOCK = 4096;
/** Most lists of a manifest. */
const MOST_LISTS = 6;
/** Most ranges of a manifest. */
const MOST_RANGES = 64;

/** The columns of an ordinary table. */
const types = [new Int64(), new Utf8(), new Float64(), new Bool(), new Int32()];

const columnsOf = (count: number) =>
  new Schema(
    Array.from({ length: count }, (_, at) => {
      const type = at === 5 ? new TimestampMicrosecond('UTC') : types[at % types.length]!;
      return new Field(`column_${at}`, type, true);
    }),
  );

/** A fragment as a small append writes it, with statistics of some 24 bytes for each column. */
function fragmentOf(columns: number): Fragment {
  const fields = Array.from({ length: columns }, (_, at) => at);
  const path = `data/${randomUUID()}.arrow`;
  const file = { path, bytes: 2000, fields, statistics: Buffer.alloc(24 * columns, 7), seal };
  return {
    files: [file],
    physicalRows: 10,
    rows: 10,
    firstRowId: 0n,
    storedRowIds: false,
    deletions: null,
  };
}

const some = (count: number, columns = 4) =>
  Array.from({ length: count }, () => fragmentOf(columns));

/** Versions and lists as a disk holds them. */
class Shelf {
  readonly #lists = new Map<string, Uint8Array>();
  /** Bytes of all that was written. */
  written = 0;

  /** Writes a version. @returns What its writer holds of it in memory, and what a reader finds. */
  async write(version: Manifest) {
    const { bytes, seal: own, lists, list } = encodeManifest(version);
    if (list !== undefined) this.#lists.set(list.path, list.bytes);
    this.written += bytes.length + (list?.bytes.length ?? 0);
    const read = () => decodeManifest(bytes, { path: 'm', seal: own }, (named) => this.list(named));
    const kept: Manifest = { ...version, lists };
    return { kept, bytes, lists, seal: own, read };
  }

  list(named: NamedList) {
    const bytes = this.#lists.get(named.path);
    if (bytes === undefined) return expect.fail(`${named.path} was never written`);
    return decodeList(bytes, { path: named.path, seal: named.seal }, named);
  }
}

const first: Manifest = {
  version: 1n,
  timestampMillis: 12,
  schema: columnsOf(4),
  fieldIds: [0, 1, 2, 3],
  nextFieldId: 4,
  nextRowId: 0n,
  fragments: [],
};

/** What a change does to fragments: `at` and `count` are shares of the table. */
interface Step {
  readonly kind:
    | 'append'
    | 'delete'
    | 'remove'
    | 'merge'
    | 'overwrite'
    | 'index'
    | 'columns'
    | 'reopen';
  readonly at: number;
  readonly count: number;
}

const stepOf: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant('append' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom('delete' as const, 'merge' as const, 'reopen' as const),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom('remove' as const, 'index' as const, 'columns' as const),
    },
    { weight: 1, arbitrary: fc.constant('overwrite' as const) },
  ),
  at: fc.nat(1000),
  count: fc.integer({ min: 1, max: 12 }),
});

function changed(base: Manifest, { kind, at, count }: Step): Manifest {
  const { fragments } = base;
  const start = Math.floor((at * fragments.length) / 1001);
  const isInside = (_: unknown, place: number) => place >= start && place < start + count;
  if (kind === 'append') return { ...base, fragments: [...fragments, ...some(count)] };
  if (kind === 'overwrite') return { ...base, fragments: some(count) };
  if (kind === 'columns') {
    const schema = columnsOf(4 + (at % 3));
    return { ...base, schema, fieldIds: schema.fields.map((__, place) => place) };
  }
  if (kind === 'remove') {
    const isLeft = (_: unknown, place: number) => place % count !== at % count;
    return { ...base, fragments: fragments.filter(isLeft) };
  }
  if (kind === 'merge') {
    return { ...base, fragments: fragments.toSpliced(start, count, ...some(1)) };
  }
  if (kind === 'index') {
    const path = `indices/u/${randomUUID()}.arrow`;
    const indices = [{ index: 'u', field: 0, path, bytes: 1 }];
    const definition = { name: 'i', uuid: 'u', type: 'BTREE', field: 0, createdMillis: 7 } as const;
    const indexed = fragments.map((each, place) =>
      isInside(each, place) ? { ...each, indices } : each,
    );
    return { ...base, indices: [definition], fragments: indexed };
  }
  if (kind === 'delete') {
    const deletions = `deletions/${randomUUID()}.arrow`;
    const deleted = fragments.map((each, place) =>
      isInside(each, place) ? { ...each, rows: 3, deletions, deletionsSeal: seal } : each,
    );
    return { ...base, fragments: deleted };
  }
  return base;
}

/** A version without the lists, by which it can be told from others. */
const contents = (version: Manifest) => ({
  ...version,
  schema: String(version.schema),
  lists: undefined,
});

it('gives every version that changes make of each other, also after a restart', async () => {
  const run = fc.asyncProperty(fc.array(stepOf, { minLength: 1, maxLength: 60 }), async (steps) => {
    const shelf = new Shelf();
    let base = (await shelf.write(first)).kept;
    for (const step of steps) {
      const next = { ...changed(base, step), version: base.version + 1n };
      const { kept, bytes, lists, read } = await shelf.write(next);
      const found = await read();
      expect(contents(found)).toEqual(contents(next));
      // The same without anything of the version before.
      const whole = await shelf.write({ ...next, lists: undefined });
      expect(contents(await whole.read())).toEqual(contents(found));
      expect(lists.length).toBeLessThanOrEqual(MOST_LISTS);
      expect(bytes.length).toBeLessThanOrEqual(BLOCK + 24 * MOST_RANGES);
      base = step.kind === 'reopen' ? found : kept;
    }
  });
  await fc.assert(run, { numRuns: casesOf(30, 1000) });
});

it.each([4, 7, 10])('fits a block after each small append to %d columns', async (columns) => {
  const shelf = new Shelf();
  const schema = columnsOf(columns);
  const fieldIds = schema.fields.map((_, at) => at);
  let base: Manifest = { ...first, schema, fieldIds };
  for (let version = 2n; version <= 300n; version++) {
    const fragments = [...base.fragments, ...some(1, columns)];
    const { kept, bytes } = await shelf.write({ ...base, version, fragments });
    expect(bytes.length).toBeLessThanOrEqual(BLOCK);
    base = kept;
  }
});

it('costs for a version what it changed, not what the table has', async () => {
  const costOf = async (fragments: number): Promise<number> => {
    const shelf = new Shelf();
    let base = (await shelf.write({ ...first, fragments: some(fragments) })).kept;
    const before = shelf.written;
    const versions = 400;
    for (let at = 0; at < versions; at++) {
      base = (await shelf.write({ ...base, fragments: [...base.fragments, ...some(1)] })).kept;
    }
    return (shelf.written - before) / versions;
  };
  const [small, large] = [await costOf(1), await costOf(8000)];
  expect(large).toBeLessThan(2 * small);
});

it('shares what versions have in common in memory', async () => {
  const shelf = new Shelf();
  const one = await shelf.write({ ...first, fragments: some(500) });
  const two = await shelf.write({
    ...one.kept,
    version: 2n,
    fragments: [...one.kept.fragments, ...some(1)],
  });
  const [list] = one.lists;
  expect(two.lists).toContain(list);
  const read = await two.read();
  const known = async ({ path }: NamedList) => read.lists!.find((each) => each.path === path)!;
  const again = await decodeManifest(two.bytes, { path: 'm', seal: two.seal }, known);
  expect(again.fragments.slice(0, 500).every((each, at) => each === read.fragments[at])).toBe(true);
  expect(again.schema).toBe(read.schema);
});

it('refuses a manifest whose ranges lie outside of its lists', async () => {
  const shelf = new Shelf();
  const { bytes, seal } = await shelf.write({ ...first, fragments: some(100) });
  const reading = decodeManifest(bytes, { path: 'm', seal }, async (named) => {
    const list = await shelf.list(named);
    return { ...list, fragments: list.fragments.slice(1) };
  });
  await expect(reading).rejects.toThrow('the manifest needs fragments up to 100 of file 1');
});
