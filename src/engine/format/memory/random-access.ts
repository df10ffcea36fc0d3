import type { OpenObject, Storage } from '../../../storage/storage.ts';
import type { RandomAccess } from '../../../arrow/ipc/random-access.ts';
import {
  checkedAccess,
  type PortionChecks,
  type TakeMemory,
} from '../../../arrow/sealed/portion-checks.ts';

/** Larger reads are never synchronous. */
const SMALL_BYTES = 2 ** 16;

/** Random access to bytes in memory. */
export function bytesAccess(bytes: Uint8Array): RandomAccess {
  return {
    size: bytes.byteLength,
    read: (offset, length) => Promise.resolve(aligned(bytes.subarray(offset, offset + length))),
  };
}

/** Opens a file for some reads. @throws an error that `isMissing` if there is none. */
export async function readingFile<Result>(
  storage: Storage,
  path: string,
  work: (access: RandomAccess) => Promise<Result>,
): Promise<Result> {
  const object = await storage.open(path);
  try {
    return await work(fileAccess({ object, size: object.size(), path }));
  } finally {
    object.close();
  }
}

/** Arrow buffers are used in place, so they must begin at a multiple of eight. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
}

/** An open file of constant length. */
export interface OpenFile {
  readonly object: OpenObject;
  readonly size: number;
  readonly path: string;
  /** What is compared of its bytes; undefined while it is being opened. */
  readonly checks?: PortionChecks | undefined;
}

const takeNew: TakeMemory = (length) => new Uint8Array(length);

/**
 * Random access to an open file. Its portions are compared with their checksums when they are first
 * read.
 * @throws DamagedFile from its reads.
 */
export function fileAccess(file: OpenFile, take: TakeMemory = takeNew): RandomAccess {
  const access = plainAccess(file, take);
  if (file.checks === undefined) return access;
  return checkedAccess(access, file.checks, plainAccess(file, takeNew), take);
}

function plainAccess({ object, size, path }: OpenFile, take: TakeMemory): RandomAccess {
  return {
    size,
    read: async (offset, length) => {
      const bytes = take(length);
      if (!fillNow(object, bytes, offset, path)) await fill(object, bytes, offset, path);
      return bytes;
    },
    readNow: (offset, length) => {
      if (length > SMALL_BYTES) return undefined;
      const bytes = take(length);
      return fillNow(object, bytes, offset, path) ? bytes : undefined;
    },
  };
}

/** Fills a small buffer synchronously. Returns whether the storage can. */
function fillNow(object: OpenObject, bytes: Uint8Array, offset: number, name: string): boolean {
  if (bytes.length > SMALL_BYTES) return false;
  for (let filled = 0; filled < bytes.length;) {
    const from = offset + filled;
    const read = object.readNow(filled === 0 ? bytes : bytes.subarray(filled), from);
    if (read === undefined) return false;
    filled += checked(read, from, name);
  }
  return true;
}

async function fill(
  object: OpenObject,
  bytes: Uint8Array,
  offset: number,
  name: string,
): Promise<void> {
  for (let filled = 0; filled < bytes.length;) {
    const from = offset + filled;
    const read = await object.read(filled === 0 ? bytes : bytes.subarray(filled), from);
    filled += checked(read, from, name);
  }
}

function checked(bytesRead: number, from: number, name: string): number {
  if (bytesRead === 0) throw new Error(`${name} ends at byte ${from}`);
  return bytesRead;
}
