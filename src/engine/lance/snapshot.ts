import { open, type FileHandle } from 'node:fs/promises';
import { CatalogError } from '../../protocol/errors.ts';
import { countIndices, lanceManifest, type LanceManifest } from './manifest.ts';
import { DamagedMessage } from './message.ts';
import { lanceVersion } from './versions.ts';
import { versionNotFound } from '../table/version-refusals.ts';

/** A Lance table at one version, as its manifest says. */
export interface LanceSnapshot extends LanceManifest {
  readonly version: bigint;
  readonly numIndices: number;
}

/** The end of a manifest's file: where the manifest begins, two numbers of the format, and a mark. */
const TAIL_BYTES = 16;
const MARK = 'LANC';
/** No manifest is larger; a damaged one must not take all memory. */
const MOST_BYTES = 256 * 1024 * 1024;

/**
 * A Lance table at its newest version, or at the one asked for; undefined when
 * there is none yet.
 * @throws CatalogError TableVersionNotFound; Internal for a manifest that cannot be read.
 */
export async function lanceSnapshot(
  location: string | null,
  version?: bigint,
): Promise<LanceSnapshot | undefined> {
  const found = await lanceVersion(location, version);
  if (found === undefined) return undefined;
  try {
    return { version: found.version, ...(await readManifest(found.manifest)) };
  } catch (error) {
    if (isMissing(error)) throw versionNotFound(found.version);
    if (!(error instanceof DamagedMessage)) throw error;
    throw new CatalogError(
      'Internal',
      `the manifest of version ${found.version} of the table cannot be read: ${error.message}`,
    );
  }
}

async function readManifest(path: string): Promise<LanceManifest & { numIndices: number }> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size < TAIL_BYTES) throw new DamagedMessage('the file is too short');
    const tail = await readRange(file, size - TAIL_BYTES, TAIL_BYTES);
    if (tail.toString('latin1', 12) !== MARK) throw new DamagedMessage('the file has another mark');
    const manifest = lanceManifest(await readSection(file, size, tail.readBigUInt64LE(0)));
    const { indices } = manifest;
    const numIndices =
      indices === null ? 0 : countIndices(await readSection(file, size, BigInt(indices)));
    return { ...manifest, numIndices };
  } finally {
    await file.close();
  }
}

/** A part of the file: its length in four bytes, and then itself. */
async function readSection(file: FileHandle, size: number, start: bigint): Promise<Buffer> {
  if (start + 4n > BigInt(size)) throw new DamagedMessage('a part lies beyond the end of the file');
  const length = (await readRange(file, Number(start), 4)).readUInt32LE(0);
  if (length > MOST_BYTES || Number(start) + 4 + length > size) {
    throw new DamagedMessage(`a part of ${length} bytes does not fit in the file`);
  }
  return readRange(file, Number(start) + 4, length);
}

async function readRange(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, start);
  if (bytesRead < length) throw new DamagedMessage('the file ends too early');
  return buffer;
}

/** Lance clients remove old versions on their own. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
