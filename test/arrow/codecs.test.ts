import zstd from '@foxglove/wasm-zstd';
import { compressFrameSync } from 'lz4-napi';
import { beforeAll, describe, expect, it } from 'vitest';
import { atOnce } from '../../src/arrow/ipc/body.ts';
import { decodeLz4 as lz4Stretches, xxhash32 } from '../../src/arrow/ipc/codec-lz4.ts';
import { decodeZstd as zstdStretches, zstdReady } from '../../src/arrow/ipc/codec-zstd.ts';
import { refused } from './support.ts';

const decodeLz4 = (bytes: Uint8Array, length: number) => atOnce(lz4Stretches(bytes, length));
const decodeZstd = (bytes: Uint8Array, length: number) => atOnce(zstdStretches(bytes, length));

/** Bytes that repeat far apart, and some that do not repeat. */
function sample(length: number): Uint8Array {
  let state = 7;
  return Uint8Array.from({ length }, (_, at) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return at % 5000 < 3000 ? at % 251 : state >>> 24;
  });
}

const lengths = [1, 12, 65_535, 65_536, 65_537, 300_000, 5_000_000];

describe('xxHash32', () => {
  it.each([
    ['', 0x02_cc_5d_05],
    ['a', 0x55_0d_74_56],
    ['abc', 0x32_d1_53_ff],
    ['Nobody inspects the spammish repetition', 0xe2_29_3b_2f],
  ])('of %j', (text, expected) => {
    expect(xxhash32(new TextEncoder().encode(text))).toBe(expected);
  });
});

describe('LZ4 frames', () => {
  it('stop after each block, for others to have a turn', () => {
    const frame = compressFrameSync(Buffer.from(sample(5_000_000)));
    const blocks = [...lz4Stretches(frame, 5_000_000)].length;
    expect(blocks).toBeGreaterThanOrEqual(2);
  });

  it.each(lengths)('of %i bytes', (length) => {
    const bytes = sample(length);
    for (const contentChecksum of [false, true]) {
      const frame = compressFrameSync(Buffer.from(bytes), {
        contentChecksum,
        blockChecksums: contentChecksum,
      });
      expect(Buffer.compare(decodeLz4(frame, length), bytes)).toBe(0);
    }
  });

  it('are refused when their checksums do not match', () => {
    const bytes = Buffer.from(sample(5000));
    for (const options of [{ contentChecksum: true }, { blockChecksums: true }]) {
      const frame = compressFrameSync(bytes, options);
      const at = frame.length - ('contentChecksum' in options ? 1 : 5);
      frame[at]! ^= 1;
      expect(refused(() => decodeLz4(frame, 5000))).toBe(
        'corrupt: An LZ4 frame fails its checksum.',
      );
    }
  });

  it('are refused when they are cut at any byte', () => {
    const frame = compressFrameSync(Buffer.from(sample(3000)));
    for (let length = 0; length < frame.length; length++) {
      expect(refused(() => decodeLz4(frame.subarray(0, length), 3000))).toMatch(/^corrupt: /);
    }
  });

  it('are refused when they hold another number of bytes', () => {
    const frame = compressFrameSync(Buffer.alloc(200_000));
    for (const declared of [1, 65_536, 199_999, 200_001, 400_000]) {
      expect(refused(() => decodeLz4(frame, declared))).toMatch(/^corrupt: /);
    }
  });
});

describe('ZSTD frames', () => {
  beforeAll(async () => {
    await zstdReady;
  });

  it.each(lengths)('of %i bytes', (length) => {
    const bytes = sample(length);
    const decoded = decodeZstd(zstd.compress(bytes), length);
    expect(Buffer.compare(decoded, bytes)).toBe(0);
    expect(decoded.byteOffset % 8).toBe(0);
  });

  it('are refused when they hold another number of bytes', () => {
    const frame = zstd.compress(new Uint8Array(200_000));
    expect(refused(() => decodeZstd(frame, 199_999))).toBe(
      'corrupt: A ZSTD buffer is damaged or holds more than it declares.',
    );
    expect(refused(() => decodeZstd(frame, 200_001))).toBe(
      'corrupt: A compressed buffer declares 200001 bytes, but holds 200000.',
    );
    expect(refused(() => decodeZstd(frame.subarray(0, 9), 200_000))).toMatch(/^corrupt: /);
  });

  it('are refused above 256 MiB', () => {
    expect(refused(() => decodeZstd(zstd.compress(new Uint8Array(8)), 2 ** 28 + 1))).toBe(
      'limit: A ZSTD buffer has 268435457 bytes, 268435456 are allowed.',
    );
  });
});
