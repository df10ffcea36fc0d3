import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeWrites, encodeWrites } from '../../src/store/store.ts';

it('gives back the writes that were encoded', () => {
  const write = fc.record({
    key: fc.string({ unit: 'grapheme', minLength: 1 }),
    value: fc.option(fc.uint8Array(), { nil: null }),
  });
  fc.assert(
    fc.property(fc.array(write), (writes) => {
      const decoded = decodeWrites(encodeWrites(writes));
      expect(decoded.map(({ key, value }) => [key, value && [...value]])).toEqual(
        writes.map(({ key, value }) => [key, value && [...value]]),
      );
    }),
  );
});
