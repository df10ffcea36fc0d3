import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isDamage, kinds, RottenTables, withBytes, type RotFile } from './rotten-table.ts';

/** Flipped bits in all; 2,000 with `npm run test:rot`. */
const FLIPS = Number(process.env['ARROWGATE_TEST_ROT'] ?? 40);
/** A fixed seed: a failure can be repeated. */
const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? 1);

let tables: RottenTables;
let files: readonly RotFile[];
let sound: ReadonlyMap<string, string>;

beforeAll(async () => {
  tables = await RottenTables.open();
  files = await tables.filesOf('t');
  const { answers, damages } = await tables.outcomes('t');
  sound = answers;
  expect(damages).toEqual([]);
  for (const outcome of sound.values()) expect(outcome).toMatch(/^\[\{|^\d+$/);
});

afterAll(() => tables?.close());

/** Numbers from 0 to below `to`, the same in each run. */
function randomNumbers(seed: number): (to: number) => number {
  let state = seed >>> 0;
  return (to) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % to;
  };
}

it('has files of every kind, most of them of several portions', () => {
  expect(new Set(files.map(({ kind }) => kind))).toEqual(new Set(kinds));
  expect(files.filter(({ bytes }) => bytes > 2 ** 16).length).toBeGreaterThan(3);
});

it(`never answers other rows after one of ${FLIPS} flipped bits`, async () => {
  const random = randomNumbers(SEED);
  const counts = { noticed: 0, refused: 0, right: 0 };
  for (let flip = 0; flip < FLIPS; flip++) {
    const some = files.filter(({ kind }) => kind === kinds[flip % kinds.length]);
    const file = some[random(some.length)]!;
    const [byte, bit] = [random(file.bytes), random(8)];
    const change = (bytes: Buffer) => {
      bytes[byte]! ^= 1 << bit;
      return bytes;
    };
    const { answers, damages } = await withBytes(file.path, change, () => tables.outcomes('t'));
    for (const [read, outcome] of answers) {
      if (outcome === sound.get(read)) counts.right++;
      else if (isDamage(outcome)) counts.refused++;
      else
        expect.fail(
          `${file.path} byte ${byte} bit ${bit}: ${read} answers ${outcome.slice(0, 300)}`,
        );
    }
    for (const { path } of damages) expect(path).toBe(file.path);
    // Requests read every data file, deletion file and manifest from end to end.
    if (file.kind !== 'indices') expect(damages.length).toBeGreaterThan(0);
    if (damages.length > 0) counts.noticed++;
  }
  expect(counts.noticed).toBeGreaterThan(FLIPS / 2);
  console.log(`rot of ${FLIPS} files: ${JSON.stringify(counts)}`);
});

it('never answers the rows of a file of the same size from another table', async () => {
  const others = await tables.filesOf('u');
  let swapped = 0;
  for (const file of files) {
    const twin = others.find(({ kind, bytes }) => kind === file.kind && bytes === file.bytes);
    if (twin === undefined) continue;
    swapped++;
    const bytes = await readFile(twin.path);
    const { answers, damages } = await withBytes(
      file.path,
      () => bytes,
      () => tables.outcomes('t'),
    );
    for (const [read, outcome] of answers) {
      if (outcome !== sound.get(read)) expect(outcome).toMatch(/the identity of .* does not match/);
    }
    // Not every request needs every file of an index.
    if (file.kind === 'indices') continue;
    expect(damages.map(({ part }) => part)).toContain('the identity');
  }
  expect(swapped).toBeGreaterThan(3);
});

it('refuses files that are cut, in threads as well', async () => {
  for (const kind of kinds) {
    const file = files.find((each) => each.kind === kind)!;
    const { answers, damages } = await withBytes(
      file.path,
      (bytes) => bytes.subarray(0, bytes.length / 2),
      () => tables.outcomes('t', 1),
    );
    if (kind !== 'indices') expect(damages.length).toBeGreaterThan(0);
    for (const [read, outcome] of answers) {
      if (outcome !== sound.get(read)) expect(isDamage(outcome)).toBe(true);
    }
  }
});
