import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeChange, encodeChange } from '../../../../src/engine/catalog/journal/journal-line.ts';
import type { StoreChange } from '../../../../src/store/store.ts';

const change: StoreChange = {
  sequence: 12n,
  writes: [
    { key: 'N/\u0000prod', value: Buffer.from('{"id":"1"}') },
    { key: 'raw', value: Buffer.from([0xff, 0x00]) },
    { key: 'gone', value: null },
  ],
};

function plain({ sequence, writes }: StoreChange): unknown {
  return { sequence, writes: writes.map(({ key, value }) => [key, value && [...value]]) };
}

describe('a line of the journal', () => {
  it('is JSON that can be read by eye', () => {
    const line = encodeChange(change).toString();
    expect(line).toMatch(/^\{"crc32":"[0-9a-f]{8}","sequence":"12",.*\n$/);
    expect(JSON.parse(line)).toMatchObject({
      sequence: '12',
      writes: [
        { key: 'N/\u0000prod', text: '{"id":"1"}' },
        { key: 'raw', base64: '/wA=' },
        { key: 'gone', removed: true },
      ],
    });
  });

  it('gives back the change, whatever its bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc.constantFrom(Buffer.from('\ufeffmarked'), Buffer.from([0xed, 0xa0, 0x80])),
    );
    const write = fc.record({
      key: fc.string({ unit: 'grapheme', minLength: 1 }),
      value: fc.option(bytes, { nil: null }),
    });
    const changes = fc.record({
      sequence: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
      writes: fc.array(write),
    });
    fc.assert(
      fc.property(changes, (given) => {
        const line = encodeChange(given);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(plain(decodeChange(line.subarray(0, -1))!)).toEqual(plain(given));
      }),
    );
  });

  it('is not read when it was torn or damaged anywhere', () => {
    const line = encodeChange(change).subarray(0, -1);
    for (let length = 0; length < line.length; length++) {
      expect(decodeChange(line.subarray(0, length))).toBeUndefined();
    }
    for (let at = 0; at < line.length; at++) {
      const damaged = Buffer.from(line);
      damaged[at]! ^= 0x01;
      expect(decodeChange(damaged)).toBeUndefined();
    }
    expect(decodeChange(Buffer.alloc(line.length))).toBeUndefined();
    expect(decodeChange(Buffer.concat([line, line]))).toBeUndefined();
  });
});
