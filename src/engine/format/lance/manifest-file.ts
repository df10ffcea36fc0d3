import type { OpenObject, Storage } from '../../../storage/storage.ts';
import type { LanceIndexSegment, LanceManifest } from './lance-manifest.ts';
import { decodeIndices, decodeLanceManifest } from './lance-manifest-reader.ts';
import { LanceManifestError } from './lance-message.ts';

/** What a manifest file says. */
export interface ManifestContent {
  readonly manifest: LanceManifest;
  /** The segments of its indices. */
  readonly segments: readonly LanceIndexSegment[];
}

/** The same with the size of the file. */
interface ManifestFile extends ManifestContent {
  /** The size of the file. */
  readonly bytes: number;
}

/** Footer of a manifest file: offset of the manifest, two format versions, and a mark. */
const TAIL_BYTES = 16;
const MARK = 'LANC';
/** First read at the end of the file, which mostly covers all of it. */
const END_BYTES = 2 ** 14;
/** Limit of a manifest's size: a damaged one must not exhaust memory. */
const MOST_BYTES = 256 * 1024 * 1024;

/**
 * Reads a manifest file: only its end, which holds everything that the catalog needs.
 * @throws LanceManifestError, and the error of the operating system for a file that is not there.
 */
export async function readManifestFile(storage: Storage, path: string): Promise<ManifestFile> {
  const file = await storage.open(path, 'folders');
  try {
    return await readOpenManifest(file, file.size());
  } finally {
    file.close();
  }
}

/** Reads the manifest of an open file, which stays open. @param size Bytes of the file. */
export async function readOpenManifest(file: OpenObject, size: number): Promise<ManifestFile> {
  if (size < TAIL_BYTES) throw new LanceManifestError('the file is too short');
  const start = Math.max(0, size - END_BYTES);
  const end = { start, bytes: await readRange({ file }, start, size - start) };
  return readParts({ file, size, end });
}

/**
 * Reads a further part of a manifest's file.
 * @throws LanceManifestError, and the error of the operating system for a file that is not there.
 */
export async function readManifestPart(
  storage: Storage,
  path: string,
  start: bigint,
): Promise<Buffer> {
  const file = await storage.open(path, 'folders');
  try {
    return await readSection({ file, size: file.size() }, start);
  } finally {
    file.close();
  }
}

interface OpenManifest {
  readonly file: OpenObject;
  readonly size: number;
  /** The part that was read: from an offset to the end. */
  readonly end?: { readonly start: number; readonly bytes: Buffer };
}

async function readParts(open: OpenManifest): Promise<ManifestFile> {
  const tail = await readRange(open, open.size - TAIL_BYTES, TAIL_BYTES);
  if (tail.toString('latin1', 12) !== MARK) {
    throw new LanceManifestError('the file has another mark');
  }
  const section = await readSection(open, tail.readBigUInt64LE(0));
  const manifest = decodeLanceManifest(section);
  const { indices } = manifest;
  const segments = indices === null ? [] : decodeIndices(await readSection(open, indices));
  return { manifest, segments, bytes: open.size };
}

/** Reads a section of the file: its length in four bytes, then its content. */
async function readSection(open: OpenManifest, start: bigint): Promise<Buffer> {
  const { size } = open;
  if (start + 4n > BigInt(size)) {
    throw new LanceManifestError('a part lies beyond the end of the file');
  }
  const length = (await readRange(open, Number(start), 4)).readUInt32LE(0);
  if (length > MOST_BYTES || Number(start) + 4 + length > size) {
    throw new LanceManifestError(`a part of ${length} bytes does not fit in the file`);
  }
  return readRange(open, Number(start) + 4, length);
}

async function readRange(
  { file, end }: Omit<OpenManifest, 'size'>,
  start: number,
  length: number,
): Promise<Buffer> {
  if (end !== undefined && start >= end.start) {
    return end.bytes.subarray(start - end.start, start - end.start + length);
  }
  const buffer = Buffer.alloc(length);
  if ((await file.read(buffer, start)) < length) {
    throw new LanceManifestError('the file ends too early');
  }
  return buffer;
}
