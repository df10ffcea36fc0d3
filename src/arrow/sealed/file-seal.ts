import { randomFillSync } from 'node:crypto';
import { crc32 } from '@node-rs/crc32';

/**
 * The identity of a sealed file and the checksum of its seal block, as the record that names the
 * file holds them: base64url of 16 random bytes and a CRC-32, 27 characters. The seal of a file
 * from before seals is detached: `@OFFSET+LENGTH` follows, the place of its block in another file.
 */
export type FileSeal = string;

/** A file as the record that names it describes it. */
export interface StoredFile {
  /** Key in its storage. */
  readonly path: string;
  /** Undefined if no record has one: the file is not read. */
  readonly seal: FileSeal | undefined;
  /** Block of a detached seal; absent if the block lies in the file. */
  readonly block?: DetachedBlock;
}

/** Where the block of a detached seal lies. */
export interface DetachedBlock {
  /** Key of the file with the block, in the same storage. */
  readonly path: string;
  readonly offset: number;
  /** In bytes. */
  readonly length: number;
}

/** The part of a file of which no record has a seal. */
export const NO_SEAL = 'the missing seal';

/** A part of a file does not match the seal of the file: it is damaged, or it is another file. */
export class DamagedFile extends Error {
  readonly path: string;
  /** The part: `the footer`, `the seal block`, `the identity`, a portion with its bytes, or `NO_SEAL`. */
  readonly part: string;

  constructor(path: string, part: string) {
    super(`${path}: ${damageOf(part)}`);
    this.name = 'DamagedFile';
    this.path = path;
    this.part = part;
  }
}

/** The fault of a damaged file. @param file Its name; absent if the sentence says it elsewhere. */
export function damageOf(part: string, file?: string): string {
  const of = file === undefined ? '' : ` of ${file}`;
  if (part !== NO_SEAL) return `${part}${of} does not match the seal of the file`;
  return `the seal${of} is missing, and the file is not listed as one from before seals`;
}

/**
 * Bytes of a portion, which has a checksum of its own; the last portion of a file may be shorter. Small,
 * because a cold read of few bytes reads whole portions.
 */
export const SEALED_PORTION = 2 ** 14;

/** What a seal block says of its file. */
export interface SealBlock {
  /** Number of bytes before the block. */
  readonly contentBytes: number;
  /** CRC-32 of the bytes after the block. */
  readonly tailSum: number;
  /** CRC-32 of each portion of the content. */
  readonly sums: Uint32Array;
}

/** The end of a block: its length in bytes, and a magic. */
const MAGIC = Buffer.from('AGSEAL01', 'latin1');
export const SEAL_END = 4 + MAGIC.length;

const IDENTITY = 16;
/** Length of a seal whose block lies in the sealed file. */
const ATTACHED_CHARACTERS = 27;
/** Identity, length of the content in 8 bytes, checksum of the tail, number of portions. */
const HEAD = IDENTITY + 16;

/** Encodes a seal block with a new identity. Its length is a multiple of 8, in bytes. */
export function encodeSealBlock({ contentBytes, tailSum, sums }: SealBlock): {
  readonly bytes: Uint8Array;
  readonly seal: FileSeal;
} {
  const length = 8 * Math.ceil((HEAD + sums.byteLength + SEAL_END) / 8);
  const bytes = Buffer.alloc(length);
  bytes.set(newIdentity());
  bytes.writeBigUInt64LE(BigInt(contentBytes), IDENTITY);
  bytes.writeUInt32LE(tailSum, IDENTITY + 8);
  bytes.writeUInt32LE(sums.length, IDENTITY + 12);
  for (const [at, sum] of sums.entries()) bytes.writeUInt32LE(sum, HEAD + 4 * at);
  bytes.writeUInt32LE(length, length - SEAL_END);
  MAGIC.copy(bytes, length - MAGIC.length);
  return { bytes, seal: sealOfBlock(bytes) };
}

/** Random bytes for the next identities: those of many cost no more than those of one. */
const random = Buffer.alloc(256 * IDENTITY);
let used = random.length;

function newIdentity(): Uint8Array {
  if (used === random.length) randomFillSync(random);
  used = (used % random.length) + IDENTITY;
  return random.subarray(used - IDENTITY, used);
}

/** The length of a seal block by its last bytes; undefined if they do not end a block. */
export function sealBlockBytes(end: Uint8Array): number | undefined {
  const last = Buffer.from(end.buffer, end.byteOffset, end.byteLength);
  if (last.length < SEAL_END || !last.subarray(-MAGIC.length).equals(MAGIC)) return undefined;
  const length = last.readUInt32LE(last.length - SEAL_END);
  return length < HEAD + SEAL_END ? undefined : length;
}

/** The seal of a file with a given block. */
export function sealOfBlock(block: Uint8Array): FileSeal {
  const seal = Buffer.alloc(IDENTITY + 4);
  seal.set(block.subarray(0, IDENTITY));
  seal.writeUInt32LE(crc32(block), IDENTITY);
  return seal.toString('base64url');
}

/** The seal of a block that lies in a file of detached seals, at an offset in bytes. */
export function detachedSeal(block: Uint8Array, offset: number): FileSeal {
  return `${sealOfBlock(block)}@${offset}+${block.length}`;
}

const DETACHED = /^[\w-]{27}@(\d{1,15})\+(\d{1,10})$/;

/** Where the block of a seal lies in a file of detached seals; undefined if it lies in the sealed file. */
export function placeOfSeal(seal: FileSeal): Omit<DetachedBlock, 'path'> | undefined {
  if (seal.length === ATTACHED_CHARACTERS) return undefined;
  const [, offset, length] = DETACHED.exec(seal) ?? [];
  return offset === undefined ? undefined : { offset: Number(offset), length: Number(length) };
}

/** Whether two seals have the same identity. */
export function sameIdentity(left: FileSeal, right: FileSeal): boolean {
  const [ours, theirs] = [left, right].map((seal) => Buffer.from(seal, 'base64url'));
  return ours?.subarray(0, IDENTITY).equals(theirs?.subarray(0, IDENTITY) ?? Buffer.of()) === true;
}

/** Decodes a block whose checksum was compared; undefined if its numbers do not agree. */
export function decodeSealBlock(bytes: Uint8Array): SealBlock | undefined {
  const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const contentBytes = Number(block.readBigUInt64LE(IDENTITY));
  const portions = block.readUInt32LE(IDENTITY + 12);
  if (portions !== Math.ceil(contentBytes / SEALED_PORTION)) return undefined;
  if (HEAD + 4 * portions + SEAL_END > block.length) return undefined;
  const sums = new Uint32Array(portions);
  for (let at = 0; at < portions; at++) sums[at] = block.readUInt32LE(HEAD + 4 * at);
  return { contentBytes, tailSum: block.readUInt32LE(IDENTITY + 8), sums };
}
