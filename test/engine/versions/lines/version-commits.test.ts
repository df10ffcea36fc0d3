import { Schema } from 'apache-arrow';
import { expect, it } from 'vitest';
import type { Manifest } from '../../../../src/engine/format/manifest.ts';
import type { Fragment } from '../../../../src/engine/format/snapshot.ts';
import { newLargeFiles } from '../../../../src/engine/versions/lines/version-commits.ts';

const LARGE = 16 * 2 ** 20;

const fragment = (name: string, bytes: number): Fragment => ({
  files: [{ path: `data/${name}.arrow`, bytes, fields: [0], seal: 'AAECAwQFBgcICQoLDA0ODxAREhM' }],
  physicalRows: 10,
  rows: 10,
  firstRowId: 0n,
  storedRowIds: false,
  deletions: null,
});

const versionOf = (...fragments: readonly Fragment[]): Manifest => ({
  version: 1n,
  timestampMillis: 0,
  schema: new Schema([]),
  fieldIds: [],
  nextFieldId: 0,
  nextRowId: 0n,
  fragments,
});

const found = (base: Manifest | undefined, manifest: Manifest) =>
  newLargeFiles('/t', { base, manifest }).map(({ path }) => path);

const [large, other] = [fragment('large', LARGE), fragment('other', LARGE)];
const small = fragment('small', LARGE - 1);

it('finds the large files of a new table and of an append', () => {
  expect(found(undefined, versionOf(large, small))).toEqual(['/t/data/large.arrow']);
  expect(found(versionOf(small), versionOf(small, large))).toEqual(['/t/data/large.arrow']);
  expect(found(versionOf(large), versionOf(large, small))).toEqual([]);
});

it('finds one that takes the place of another', () => {
  expect(found(versionOf(large), versionOf(other))).toEqual(['/t/data/other.arrow']);
});

it('leaves out one of which rows were deleted', () => {
  const fewer = { ...large, rows: 9, deletions: 'deletions/d.arrow' };
  expect(found(versionOf(large), versionOf(fewer))).toEqual([]);
});

it('finds four at most, the last ones', () => {
  const all = Array.from({ length: 6 }, (_, at) => fragment(String(at), LARGE));
  const last = [2, 3, 4, 5].map((at) => `/t/data/${at}.arrow`);
  expect(found(undefined, versionOf(...all))).toEqual(last);
});
