import { statSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import type { Bytes, Tables } from './embedded-transaction.ts';
import { StoreError } from './errors.ts';

/** Address space that the file may grow into; nothing is taken up before it is used. */
const MAP_BYTES = 2 ** 36;

const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;

type Root = RootDatabase<Uint8Array, Uint8Array>;

/** The embedded store's file, open. */
export interface OpenFile {
  readonly root: Root;
  readonly tables: Tables;
  /** What its name stood for when it was opened. */
  readonly inode: number;
}

/**
 * Opens the file of a folder, which is made where it is missing.
 *
 * What a resolved commit means: with `overlappingSync` off, LMDB writes the
 * pages, waits for `fdatasync`, writes the page that makes them count through a
 * descriptor opened with O_DSYNC, and only then reports back (as strace shows).
 */
export function openFile(folder: string): OpenFile {
  const root = open<Uint8Array, Uint8Array>({
    ...binary,
    path: folder,
    noSubdir: false,
    overlappingSync: false,
    // Off: when it is on, a commit that fails also rejects a promise that nobody holds.
    eventTurnBatching: false,
    mapSize: MAP_BYTES,
    maxDbs: 3,
  });
  const table = (name: string): Bytes => root.openDB(name, binary);
  const tables = {
    values: table('values'),
    changes: table('changes'),
    counters: table('counters'),
  };
  return { root, tables, inode: inodeOf(folder) };
}

/**
 * The number of the file that a folder holds now.
 * @throws StoreError unavailable when it holds none: it was taken away.
 */
export function inodeOf(folder: string): number {
  const stats = statSync(join(folder, 'data.mdb'), { throwIfNoEntry: false });
  if (stats === undefined) throw new StoreError('unavailable', 'the file of the store is gone');
  return stats.ino;
}
