import { crc32 } from '@node-rs/crc32';
import { FOOTER_END, footerBytes, openFile, type ArrowFile } from '../ipc/file-reader.ts';
import type { RandomAccess } from '../ipc/random-access.ts';
import { ArrowError } from '../arrow-error.ts';
import {
  DamagedFile,
  decodeSealBlock,
  NO_SEAL,
  sameIdentity,
  sealBlockBytes,
  sealOfBlock,
  SEAL_END,
  type FileSeal,
  type StoredFile,
} from './file-seal.ts';
import { checkedAccess, PortionChecks } from './portion-checks.ts';

/** Number of bytes at the end of a file that are read first; most footers and seal blocks fit. */
const FIRST_READ = 65_536;

/** An open file, and what is compared of it. */
export interface OpenSealedFile {
  readonly file: ArrowFile;
  readonly checks: PortionChecks;
}

/** The checks of a file's portions, and the footer with all that follows if it was read. */
interface OpenChecks {
  readonly checks: PortionChecks;
  readonly tail?: Uint8Array;
}

/**
 * Opens an Arrow file. Whatever is read of it is compared with its seal.
 * @param block The bytes of the block of a detached seal.
 * @throws DamagedFile for a file that does not match its seal, and what `openFile` throws.
 */
export async function openSealed(
  access: RandomAccess,
  stored: StoredFile,
  block?: Uint8Array,
): Promise<OpenSealedFile> {
  const { checks, tail } = await openChecks(access, stored, block);
  return { file: await openFile(checkedAccess(access, checks), tail), checks };
}

/**
 * Compares the seal block and the identity of a file, and the footer if the block lies before it. A
 * detached block covers the footer with its portions.
 * @throws DamagedFile
 */
export async function openChecks(
  access: RandomAccess,
  { path, seal }: StoredFile,
  block?: Uint8Array,
): Promise<OpenChecks> {
  if (seal === undefined) throw new DamagedFile(path, NO_SEAL);
  return block === undefined
    ? attachedChecks(access, path, seal)
    : { checks: detachedChecks(access, path, seal, block) };
}

function detachedChecks(
  access: RandomAccess,
  path: string,
  seal: FileSeal,
  block: Uint8Array,
): PortionChecks {
  if (!seal.startsWith(`${sealOfBlock(block)}@`)) throw new DamagedFile(path, 'the seal block');
  const facts = decodeSealBlock(block);
  if (facts?.contentBytes !== access.size) throw new DamagedFile(path, 'the number of bytes');
  return new PortionChecks(path, facts);
}

async function attachedChecks(
  access: RandomAccess,
  path: string,
  seal: FileSeal,
): Promise<OpenChecks> {
  const { last, tail, block } = await readEnd(access, path);
  const found = block && sealOfBlock(block);
  if (block === undefined || found === undefined) throw new DamagedFile(path, 'the seal block');
  if (found !== seal) {
    throw new DamagedFile(path, sameIdentity(found, seal) ? 'the seal block' : 'the identity');
  }
  const facts = decodeSealBlock(block);
  if (facts?.contentBytes !== access.size - tail.length - block.length)
    throw new DamagedFile(path, 'the seal block');
  if (crc32(tail) !== facts.tailSum) throw new DamagedFile(path, 'the footer');
  const checks = new PortionChecks(path, facts);
  checks.compareInside(access.size - last.length, last);
  return { checks, tail };
}

/** The seal that a file itself holds; undefined if it has none. Nothing is compared. */
export async function ownSeal(access: RandomAccess, path: string): Promise<FileSeal | undefined> {
  try {
    const { block } = await readEnd(access, path);
    return block && sealOfBlock(block);
  } catch (error) {
    if (error instanceof DamagedFile) return undefined;
    throw error;
  }
}

interface FileEnd {
  /** The last bytes of the file. */
  readonly last: Uint8Array;
  /** The footer and what follows. */
  readonly tail: Uint8Array;
  /** The seal block before the footer; undefined if there is none. */
  readonly block: Uint8Array | undefined;
}

async function readEnd(access: RandomAccess, path: string): Promise<FileEnd> {
  const { size } = access;
  const start = Math.max(0, size - FIRST_READ);
  const last = await access.read(start - (start % 8), size - start + (start % 8));
  const tailBytes = FOOTER_END + footerLength(last, size, path);
  const part = (bytes: number, end: number) =>
    bytes + end <= last.length
      ? Promise.resolve(last.subarray(last.length - end - bytes, last.length - end))
      : access.read(size - end - bytes, bytes);
  const tail = await part(tailBytes, 0);
  if (tailBytes + SEAL_END > size) return { last, tail, block: undefined };
  const blockBytes = sealBlockBytes(await part(SEAL_END, tailBytes));
  const isThere = blockBytes !== undefined && tailBytes + blockBytes <= size;
  return { last, tail, block: isThere ? await part(blockBytes, tailBytes) : undefined };
}

function footerLength(last: Uint8Array, size: number, path: string): number {
  try {
    return footerBytes(last, size);
  } catch (error) {
    if (error instanceof ArrowError) throw new DamagedFile(path, 'the footer');
    throw error;
  }
}
