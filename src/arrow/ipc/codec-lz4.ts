import { uncompressSync } from 'lz4-napi';
import { allocate } from './byte-source.ts';
import { corrupt } from '../arrow-error.ts';

/** xxHash32 with seed 0 (xxHash specification 0.1.1): the checksum of LZ4 frames. */

const prime1 = 0x9e_37_79_b1;
const prime2 = 0x85_eb_ca_77;
const prime3 = 0xc2_b2_ae_3d;
const prime4 = 0x27_d4_eb_2f;
const prime5 = 0x16_56_67_b1;

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function round(lane: number, word: number): number {
  return Math.imul(rotate((lane + Math.imul(word, prime2)) | 0, 13), prime1);
}

/** The checksum of some bytes as an unsigned number. */
export function xxhash32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const striped = bytes.length & ~15;
  let hash = (bytes.length < 16 ? prime5 : hashStripes(view, striped)) + bytes.length;
  let at = striped;
  for (; at + 4 <= bytes.length; at += 4) {
    const word = Math.imul(view.getUint32(at, true), prime3);
    hash = Math.imul(rotate((hash + word) | 0, 17), prime4);
  }
  for (; at < bytes.length; at++) {
    hash = Math.imul(rotate((hash + Math.imul(bytes[at]!, prime5)) | 0, 11), prime1);
  }
  return avalanche(hash | 0);
}

function hashStripes(view: DataView, end: number): number {
  let lane1 = (prime1 + prime2) | 0;
  let lane2 = prime2 | 0;
  let lane3 = 0;
  let lane4 = -prime1 | 0;
  for (let at = 0; at < end; at += 16) {
    lane1 = round(lane1, view.getUint32(at, true));
    lane2 = round(lane2, view.getUint32(at + 4, true));
    lane3 = round(lane3, view.getUint32(at + 8, true));
    lane4 = round(lane4, view.getUint32(at + 12, true));
  }
  return rotate(lane1, 1) + rotate(lane2, 7) + rotate(lane3, 12) + rotate(lane4, 18);
}

function avalanche(hash: number): number {
  const first = Math.imul(hash ^ (hash >>> 15), prime2);
  const second = Math.imul(first ^ (first >>> 13), prime3);
  return (second ^ (second >>> 16)) >>> 0;
}

/** The first bytes of a frame (LZ4 Frame Format 1.6, "General Structure"). */
const magic = 0x18_4d_22_04;
/** The largest block by the number in the frame's BD byte. */
const blockSizes: Readonly<Record<number, number>> = {
  4: 65_536,
  5: 262_144,
  6: 1_048_576,
  7: 4_194_304,
};
/** How far back a block may refer to earlier ones. */
const windowBytes = 65_536;

interface Frame {
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly linked: boolean;
  readonly blockChecksums: boolean;
  readonly contentChecksum: boolean;
  readonly blockSize: number;
  readonly start: number;
}

/**
 * Decompresses one LZ4 frame into exactly `length` bytes. It never takes more
 * memory than that and a block. Throws `corrupt` if the frame is damaged or
 * holds another number of bytes. It stops after each block.
 */
export function* decodeLz4(bytes: Uint8Array, length: number): Generator<void, Uint8Array> {
  const frame = readFrame(bytes);
  const output = allocate(length);
  let at = frame.start;
  let filled = 0;
  for (;;) {
    const word = frame.view.getUint32(need(bytes, at, 4), true);
    at += 4;
    if (word === 0) break;
    const size = word & 0x7f_ff_ff_ff;
    const block = bytes.subarray(need(bytes, at, size), at + size);
    if (size > frame.blockSize)
      throw corrupt(`An LZ4 block has ${size} bytes, more than its frame allows.`);
    at += size;
    if (frame.blockChecksums) {
      checkSum(frame.view.getUint32(need(bytes, at, 4), true), block);
      at += 4;
    }
    filled += writeBlock(frame, block, word >>> 31 === 1, output, filled);
    yield;
  }
  if (filled !== length) throw wrongLength(filled, length);
  if (frame.contentChecksum) {
    checkSum(frame.view.getUint32(need(bytes, at, 4), true), output);
    at += 4;
  }
  return output;
}

function readFrame(bytes: Uint8Array): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(need(bytes, 0, 7), true) !== magic) {
    throw corrupt('An LZ4 buffer does not begin with a frame.');
  }
  const flags = bytes[4]!;
  const blockSize = blockSizes[(bytes[5]! >> 4) & 7];
  if (flags >> 6 !== 1 || blockSize === undefined) {
    throw corrupt('The header of an LZ4 frame is not of a known version.');
  }
  if ((flags & 1) !== 0) throw corrupt('An LZ4 frame needs a dictionary from elsewhere.');
  const start = 7 + ((flags & 8) === 0 ? 0 : 8);
  const check = (xxhash32(bytes.subarray(4, need(bytes, start - 1, 1))) >> 8) & 255;
  if (bytes[start - 1] !== check) throw corrupt('The header of an LZ4 frame fails its checksum.');
  return {
    view,
    bytes,
    linked: (flags & 32) === 0,
    blockChecksums: (flags & 16) !== 0,
    contentChecksum: (flags & 4) !== 0,
    blockSize,
    start,
  };
}

function writeBlock(
  frame: Frame,
  block: Uint8Array,
  stored: boolean,
  output: Uint8Array,
  filled: number,
): number {
  const room = Math.min(frame.blockSize, output.length - filled);
  if (stored) {
    if (block.length > room) throw wrongLength(filled + block.length, output.length);
    output.set(block, filled);
    return block.length;
  }
  const window = frame.linked
    ? output.subarray(Math.max(0, filled - windowBytes), filled)
    : undefined;
  const decoded = decodeBlock(block, room, window);
  output.set(decoded, filled);
  return decoded.length;
}

/** Reused input of the decoder, which is synchronous. */
let scratch = new Uint8Array(65_536 + 4);

/** A block in at most `room` bytes: the decoder takes the bound as a length before the block. */
function decodeBlock(block: Uint8Array, room: number, window: Uint8Array | undefined): Uint8Array {
  if (scratch.length < 4 + block.length) scratch = new Uint8Array(4 + block.length);
  const input = scratch.subarray(0, 4 + block.length);
  new DataView(input.buffer).setUint32(0, room, true);
  input.set(block, 4);
  try {
    return window === undefined || window.length === 0
      ? uncompressSync(input)
      : uncompressSync(input, window);
  } catch {
    throw corrupt('An LZ4 block is damaged or holds more than its buffer declares.');
  }
}

function checkSum(expected: number, bytes: Uint8Array): void {
  if (xxhash32(bytes) !== expected) throw corrupt('An LZ4 frame fails its checksum.');
}

function need(bytes: Uint8Array, position: number, size: number): number {
  if (position + size > bytes.length) throw corrupt('An LZ4 frame is cut short.');
  return position;
}

function wrongLength(found: number, declared: number): Error {
  return corrupt(`A compressed buffer declares ${declared} bytes, but holds ${found}.`);
}
