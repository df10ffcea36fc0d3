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
