import { describe, expect, it } from 'vitest';
import { ArrowError } from '../../src/arrow/arrow-error.ts';
import { fileBytes, fixture, openBytes, plainRows, readStream } from './support.ts';
import { casesOf } from '../support/cases.ts';

/** Damaged copies of each. */
const ROUNDS = casesOf(150, 500);
const names = ['scalars', 'nested', 'scalars-lz4', 'scalars-zstd', 'nested-lz4', 'nested-zstd'];

/** A repeatable source of numbers in [0, 1). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Reads; gives the error's kind, or what was read if it can be written and read again. */
async function attempt(bytes: Uint8Array): Promise<string> {
  try {
    const { schema, batches } = await readStream(bytes, { batchBytes: 16_777_216 });
    const { file } = await openBytes(fileBytes(schema, batches));
    const again = await Promise.all(batches.map((_, index) => file.readBatch(index)));
    expect(plainRows(again)).toEqual(plainRows(batches));
    return 'read';
  } catch (error) {
    if (error instanceof ArrowError) return error.kind;
    throw error;
  }
}

describe('damaged streams', () => {
  it.each(['dictionary-deltas', 'version-4-union', 'lancedb-create'])(
    'are refused when %s is cut at any byte',
    async (name) => {
      const bytes = fixture(name);
      const whole = await readStream(bytes);
      const rows = plainRows(whole.batches);
      for (let length = 0; length < bytes.length; length++) {
        try {
          const read = await readStream(bytes.subarray(0, length));
          const found = plainRows(read.batches);
          expect(found).toEqual(rows.slice(0, found.length));
        } catch (error) {
          expect(error).toBeInstanceOf(ArrowError);
        }
      }
    },
  );

  it.each(names)('never crash the reader when bytes of %s change', async (name) => {
    const seed = 20_261_120;
    const base = fixture(name);
    const outcomes = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const next = random(seed + round);
      const bytes = base.slice();
      for (let flips = 1 + Math.floor(next() * 4); flips > 0; flips--) {
        bytes[Math.floor(next() * bytes.length)]! ^= 1 << Math.floor(next() * 8);
      }
      outcomes.add(
        await attempt(bytes).catch((error: unknown) => {
          throw new Error(`seed ${seed + round} of ${name}`, { cause: error });
        }),
      );
    }
    expect(outcomes).toContain('corrupt');
    expect(outcomes).toContain('read');
  });

  it('never crash the reader of files', async () => {
    const { schema, batches } = await readStream(fixture('nested'));
    const base = fileBytes(schema, batches);
    const outcomes = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const next = random(77 + round);
      const bytes = base.slice();
      // The footer and the metadata: values of one's own files are not checked.
      const at = Math.floor(bytes.length - 1 - next() * 9000);
      bytes[at]! ^= 1 << Math.floor(next() * 8);
      try {
        const { file } = await openBytes(bytes);
        for (let index = 0; index < file.batchRows.length; index++) await file.readBatch(index);
        outcomes.add('read');
      } catch (error) {
        if (!(error instanceof ArrowError)) throw new Error(`seed ${77 + round}`, { cause: error });
        outcomes.add(error.kind);
      }
    }
    expect(outcomes).toContain('corrupt');
    expect(outcomes).toContain('read');
  });
});
