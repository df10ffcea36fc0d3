import { access, constants, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { requireFormat } from '../../engine/catalog/journal/data-format.ts';
import { isObjectKey } from '../../storage/object-key.ts';
import type { Config } from '../config/config-table.ts';
import { UsageError } from '../output/service-error.ts';
import { disk, type DataFolder } from './data-folder.ts';

/** Room that a start needs, in bytes. */
const PROBE_BYTES = 256 * 1024;

/** Codes of the system for a place that can be read and not written, each as a sentence continues. */
const readOnlyCodes: Readonly<Record<string, string>> = {
  EACCES: 'cannot be written by this user',
  EPERM: 'cannot be written by this user',
  EROFS: 'is on a file system that is mounted for reading',
  ENOSPC: 'cannot be written: the disk is full',
  EDQUOT: 'cannot be written: the quota of the disk is used up',
};

/**
 * Refuses a place where no folder can be made or written: checks the folder, or the nearest
 * one above it that is there. Makes nothing. An object store is tried when it is opened.
 * @throws UsageError
 */
export async function requireWritable(folder: string): Promise<void> {
  if (isObjectKey(folder)) return;
  const stats = await stat(folder).catch((error: NodeJS.ErrnoException) => error);
  if (stats instanceof Error) {
    if (stats.code !== 'ENOENT') throw new UsageError(`${folder} cannot be used (${stats.code})`);
    return requireWritable(dirname(folder));
  }
  if (!stats.isDirectory()) throw new UsageError(`${folder} is a file, but must be a folder`);
  await access(folder, constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${folder} cannot be written by this user (${error.code})`);
  });
}

/**
 * Why a data folder that exists can be read and not written: the modes of its folders and of its
 * store, or the disk. Undefined if it can be written, and for a folder that is still to be made.
 * @param probe Whether a file is written for a moment, to find a full disk.
 * @throws CatalogError for a folder of a format that this program does not read.
 */
export async function writeFault(folder: DataFolder, probe: boolean): Promise<string | undefined> {
  const stats = await stat(folder.root).catch(() => undefined);
  if (stats?.isDirectory() !== true) return undefined;
  if (!(await requireFormat(disk, folder.root))) return undefined;
  for (const path of placesIn(folder)) {
    const fault = await faultOf(path, access(path, constants.W_OK));
    if (fault !== undefined) return fault;
  }
  return probe ? probeFault(folder) : undefined;
}

/**
 * Why a service starts in read-only mode; undefined if it can write.
 * @throws UsageError if each record has to be on disk before its answer.
 */
export async function readOnlyFault(
  config: Config,
  folder: DataFolder,
  probe: boolean,
): Promise<string | undefined> {
  const fault = await writeFault(folder, probe);
  if (fault === undefined || config['audit.durable'] === 'mutations') return fault;
  throw new UsageError(
    `${fault}; with audit.durable: all no request is answered before its audit record is on disk, so there is no read-only mode`,
  );
}

function placesIn({ root, audit, store, lance }: DataFolder): readonly string[] {
  const inner = ['private', 'catalog', 'tables'].map((name) => join(root, name));
  const files = ['data.mdb', 'lock.mdb'].map((name) => join(store, name));
  return [root, ...inner, audit, store, ...files, ...(isObjectKey(lance) ? [] : [lance])];
}

async function probeFault({ root }: DataFolder): Promise<string | undefined> {
  const path = join(root, 'private', 'write-probe');
  try {
    return await faultOf(dirname(path), writeProbe(path));
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

async function writeProbe(path: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(Buffer.alloc(PROBE_BYTES, 1));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The sentence for a place that cannot be written; undefined if it can, or is missing. */
async function faultOf(path: string, attempt: Promise<void>): Promise<string | undefined> {
  const error = await attempt.then(
    () => undefined,
    (reason: NodeJS.ErrnoException) => reason,
  );
  if (error === undefined || error.code === 'ENOENT') return undefined;
  const sentence = readOnlyCodes[error.code ?? ''];
  if (sentence === undefined) throw error;
  return `${path} ${sentence} (${error.code})`;
}
