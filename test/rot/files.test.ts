import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isDamage, kinds, RottenTables, withBytes, type RotFile } from './rotten-table.ts';

/** Flipped bits in all; 2,000 with `npm run test:rot`. */
const FLIPS = Number(process.env['ARROWGATE_TEST_ROT'] ?? 40);
/** Files that are swapped, and blocks. */
const SWAPS = Math.max(10, FLIPS / 10);
/** Tables beside the damaged one. Two tables have some 95 pairs of files of the same size. */
const OTHERS = SWAPS <= 40 ? 1 : 4;
/** A block of the disk, in bytes. */
const BLOCK = 4096;
/** Timeout of a test on a busy machine, in ms. */
const TIMEOUT = 60_000 + FLIPS * 3000;
/** A fixed seed: a failure can be repeated. */
const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? 1);

let tables: RottenTables;
let files: readonly RotFile[];
let sound: ReadonlyMap<string, string>;

beforeAll(async () => {
  tables = await RottenTables.open(OTHERS);
  files = await tables.filesOf('t');
  const { answers, damages } = await tables.outcomes('t');
  sound = answers;
  expect(damages).toEqual([]);
  for (const outcome of sound.values()) expect(outcome).toMatch(/^\[\{|^\d+$/);
});

afterAll(() => tables?.close());

/** The files of the other tables. */
async function otherFiles(): Promise<readonly RotFile[]> {
  const found = await Promise.all(tables.others.map((name) => tables.filesOf(name)));
  return found.flat();
}

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

/** What became of the requests and deep verifications after damage. */
const counts = { noticed: 0, refused: 0, right: 0, found: 0 };

/**
 * Damages a file: every request must answer as before or refuse the file, and a deep verification
 * must find it.
 */
async function damage(file: RotFile, change: (bytes: Buffer) => Buffer, what: string) {
  const { answers, damages, unsound } = await withBytes(file.path, change, async () => ({
    ...(await tables.outcomes('t')),
    unsound: await tables.unsound('t'),
  }));
  for (const [read, outcome] of answers) {
    if (outcome === sound.get(read)) counts.right++;
    else if (isDamage(outcome)) counts.refused++;
    else expect.fail(`${file.path} ${what}: ${read} answers ${outcome.slice(0, 300)}`);
  }
  for (const { path } of damages) expect(path).toBe(file.path);
  // Requests read the newest manifest, its lists, and every data and deletion file from end to end.
  if (file.isNeeded && file.kind !== 'indices') expect(damages.length).toBeGreaterThan(0);
  if (damages.length > 0) counts.noticed++;
  expect([...unsound], `${what} of ${file.path}`).toEqual([file.path]);
  counts.found++;
  return { answers, damages };
}

/** Prints and resets the numbers. */
function report(what: string): void {
  console.log(`rot, ${what}: silently wrong answers 0, ${JSON.stringify(counts)}`);
  Object.assign(counts, { noticed: 0, refused: 0, right: 0, found: 0 });
}

it(
  `never answers other rows after one of ${FLIPS} flipped bits, each of which a deep verification finds`,
  { timeout: TIMEOUT },
  async () => {
    const random = randomNumbers(SEED);
    for (let flip = 0; flip < FLIPS; flip++) {
      const some = files.filter(({ kind }) => kind === kinds[flip % kinds.length]);
      const file = some[random(some.length)]!;
      const [byte, bit] = [random(file.bytes), random(8)];
      const change = (bytes: Buffer) => {
        bytes[byte]! ^= 1 << bit;
        return bytes;
      };
      await damage(file, change, `byte ${byte} bit ${bit}`);
    }
    expect(counts.noticed).toBeGreaterThan(FLIPS / 3);
    report(`${FLIPS} flipped bits`);
  },
);

it(
  'never answers the rows of a file of the same size: of another table, version or kind',
  { timeout: TIMEOUT },
  async () => {
    const all = [...files, ...(await otherFiles())];
    let swapped = 0;
    for (const file of files) {
      for (const { path, bytes: size, kind } of all) {
        if (path === file.path || size !== file.bytes || swapped === SWAPS) continue;
        swapped++;
        const bytes = await readFile(path);
        const { answers, damages } = await damage(file, () => bytes, `${kind} ${path} in place`);
        for (const [read, outcome] of answers) {
          if (outcome !== sound.get(read))
            expect(outcome).toMatch(/the identity of .* does not match/);
        }
        // Not every request needs every file of an index.
        if (!file.isNeeded || file.kind === 'indices') continue;
        expect(damages.map(({ part }) => part)).toContain('the identity');
      }
    }
    expect(swapped).toBe(SWAPS);
    report(`${swapped} swapped files`);
  },
);

it(
  `never answers from one of ${SWAPS} blocks that were written to another file`,
  { timeout: TIMEOUT },
  async () => {
    const random = randomNumbers(SEED + 1);
    const all = [...files, ...(await otherFiles())];
    for (let swap = 0; swap < SWAPS; swap++) {
      const file = files[random(files.length)]!;
      const other = all[random(all.length)]!;
      const block = random(Math.ceil(Math.min(file.bytes, other.bytes) / BLOCK)) * BLOCK;
      const source = await readFile(other.path);
      const own = await readFile(file.path);
      const end = Math.min(block + BLOCK, file.bytes, other.bytes);
      if (own.subarray(block, end).equals(source.subarray(block, end))) continue;
      const change = (bytes: Buffer) => {
        source.copy(bytes, block, block, end);
        return bytes;
      };
      await damage(file, change, `the block at ${block} of ${other.path}`);
    }
    report('blocks of other files');
  },
);

it('refuses files that are cut, in threads as well', async () => {
  for (const kind of kinds) {
    const file = files.find((each) => each.kind === kind && each.isNeeded)!;
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
