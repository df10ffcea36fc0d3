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
/** A fragment of some columns in a manifest, in bytes. */
const FRAGMENT = 600;

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
      const touched = ['delete', 'index'].includes(step.kind) ? step.count : 0;
      expect(bytes.length).toBeLessThanOrEqual(BLOCK + 24 * MOST_RANGES + FRAGMENT * touched);
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

/** A fragment of many rows, with so many bytes of statistics. */
const large = (statistics: number): Fragment => {
  const [fragment] = some(1);
  const [file] = fragment!.files;
  return { ...fragment!, files: [{ ...file!, statistics: Buffer.alloc(statistics, 7) }] };
};

/** The version after one, whose first fragment has fewer rows. */
const withFewer = (base: Manifest): Manifest => {
  const [one, ...others] = base.fragments;
  const deletions = `deletions/${randomUUID()}.arrow`;
  const fewer = { ...one!, rows: one!.rows - 1, deletions, deletionsSeal: seal };
  return { ...base, version: base.version + 1n, fragments: [fewer, ...others] };
};

it('keeps a fragment whose rows were just deleted out of lists', async () => {
  const shelf = new Shelf();
  let base = (await shelf.write({ ...first, fragments: [large(BLOCK)] })).kept;
  expect(base.lists).toHaveLength(1);
  for (let time = 0; time < 3; time++) {
    const next = withFewer(base);
    const { kept, lists, read } = await shelf.write(next);
    expect(lists).toEqual([]);
    expect(contents(await read())).toEqual(contents(next));
    base = kept;
  }
  const [changed, added] = [base.fragments[0], ...some(1)];
  const { lists } = await shelf.write({ ...base, fragments: [changed!, added!] });
  expect(lists.map(({ fragments }) => fragments)).toEqual([[changed, added]]);
});

it('puts it in a list after a restart', async () => {
  const shelf = new Shelf();
  const { read } = await shelf.write(withFewer({ ...first, fragments: [large(BLOCK)] }));
  const found = await read();
  const { lists } = await shelf.write({ ...found, version: 3n });
  expect(lists.map(({ fragments }) => fragments)).toEqual([found.fragments]);
});

it('lists what was added beside fragments whose rows are deleted again and again', async () => {
  const shelf = new Shelf();
  let base = (await shelf.write({ ...first, fragments: [large(BLOCK)] })).kept;
  let written = 0;
  for (let time = 0; time < 40; time++) {
    const fewer = withFewer(base);
    const next = { ...fewer, fragments: [...fewer.fragments, ...some(1)] };
    const { kept, bytes, lists, read } = await shelf.write(next);
    expect(contents(await read())).toEqual(contents(next));
    expect(lists.flatMap(({ fragments }) => fragments)).not.toContain(next.fragments[0]);
    expect(bytes.length).toBeLessThanOrEqual(2 * BLOCK + FRAGMENT);
    written += lists.filter((list) => base.lists?.includes(list) !== true).length;
    base = kept;
  }
  expect(written).toBeLessThan(15);
});

it.each([
  ['of many bytes', [large(2 ** 16)]],
  ['that would need too many ranges', Array.from({ length: 200 }, () => large(24))],
])('lists fragments whose rows were just deleted %s', async (_, fragments) => {
  const shelf = new Shelf();
  const { kept } = await shelf.write({ ...first, fragments });
  const deletions = `deletions/${randomUUID()}.arrow`;
  const fewer = kept.fragments.map((each, at) =>
    at % 2 === 0 ? { ...each, rows: 3, deletions, deletionsSeal: seal } : each,
  );
  const { lists } = await shelf.write({ ...kept, version: 2n, fragments: fewer });
  expect(lists.flatMap((list) => list.fragments)).toContain(fewer[0]);
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
