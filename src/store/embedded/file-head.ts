import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { StoreError } from '../store-error.ts';

/** Bytes of a page that are looked at: its header of 16 bytes, and the record after it. */
const HEAD_BYTES = 152;
const MAGIC = 0xbeefc0de;
/** Offsets in a page, in bytes. */
const AT = { magic: 24, format: 28, pageBytes: 48, lastPage: 144 } as const;
/** Sizes of pages of LMDB, in bytes. */
const [LEAST_PAGE, LARGEST_PAGE] = [2 ** 9, 2 ** 16];

const isLittle = endianness() === 'LE';

/** What does not change in the first two pages of LMDB's file: each describes a newest transaction. */
interface Head {
  readonly magic: number;
  readonly format: number;
  readonly pageBytes: number;
  readonly lastPage: bigint;
}

/**
 * Compares the first two pages of the file of a store with each other before LMDB opens it: LMDB
 * checks little of them, and a damaged one can end the process. A file that is missing or empty is
 * about to be made.
 * @param mapBytes Maximum size of the file.
 * @throws StoreError damaged
 */
export function requireSoundHead(folder: string, mapBytes: number): void {
  const path = join(folder, 'data.mdb');
  const heads = headsOf(path);
  if (heads === undefined) return;
  const [first, second] = heads;
  const isSame =
    second !== undefined &&
    first.magic === MAGIC &&
    second.magic === MAGIC &&
    first.format === second.format &&
    first.pageBytes === second.pageBytes;
  const isInside = ({ pageBytes, lastPage }: Head) => lastPage * BigInt(pageBytes) < mapBytes;
  if (isSame && isInside(first) && isInside(second)) return;
  throw new StoreError(
    'damaged',
    `the first pages of ${path} are damaged: move ${folder} away, and run \`arrowgate catalog rebuild\``,
  );
}

/** The first page, and the second one if its place is known; undefined without any bytes. */
function headsOf(path: string): readonly [Head, Head?] | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // Whoever opens it next reports why it cannot be read.
    return undefined;
  }
  try {
    const first = headAt(file, 0);
    if (first === undefined) return undefined;
    const { pageBytes } = first;
    const isSize = pageBytes >= LEAST_PAGE && pageBytes <= LARGEST_PAGE;
    const second = isSize ? headAt(file, pageBytes) : undefined;
    return second === undefined ? [first] : [first, second];
  } finally {
    closeSync(file);
  }
}

function headAt(file: number, offset: number): Head | undefined {
  const bytes = new DataView(new ArrayBuffer(HEAD_BYTES));
  if (readSync(file, bytes, 0, HEAD_BYTES, offset) === 0) return undefined;
  return {
    magic: bytes.getUint32(AT.magic, isLittle),
    format: bytes.getUint32(AT.format, isLittle),
    pageBytes: bytes.getUint32(AT.pageBytes, isLittle),
    lastPage: bytes.getBigUint64(AT.lastPage, isLittle),
  };
}
