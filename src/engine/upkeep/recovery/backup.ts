import { dirname, join, relative, resolve, sep } from 'node:path';
import { idPaths, readId } from '../../catalog/records/catalog-id.ts';
import { formatPath, writeFormat } from '../../catalog/journal/data-format.ts';
import { journaledMoment } from '../../catalog/journal/journal-moment.ts';
import { readState } from '../../catalog/journal/journal-state.ts';
import { writeSnapshot } from '../../catalog/journal/snapshot-file.ts';
import { wireLocation } from '../../../storage/object-key.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { RetentionParts } from '../retention/parts.ts';
import { copyMaskSecret, maskKeyOf } from '../../query/restrict/mask-secret.ts';
import { BackupFiles } from './backup-files.ts';
import { backupTables, movedEntries } from './backup-tables.ts';
import { lostLines } from '../../catalog/journal/lost-lines.ts';

export interface BackupOptions {
  /** The folder that becomes the backup: a data folder that can be served. */
  readonly target: string;
  /** Called with the name of each step. */
  readonly progress: (doing: string) => void;
}

/** Contents of a backup. */
export interface BackedUp {
  /** The number of the last change that it holds. */
  readonly sequence: bigint;
  readonly tables: number;
  readonly versions: number;
  readonly files: number;
  /** Files that share their bytes with those of the catalog, and bytes that were copied. */
  readonly linked: number;
  readonly copiedBytes: number;
  /** Symbolic links in folders of Lance tables: left out, since they may lead anywhere. */
  readonly links: readonly string[];
  /** Locations of tables of Lance clients outside of the managed folder, or in object stores: not copied. */
  readonly outside: readonly string[];
}

/** No backup can be made: the message says why. */
export class BackupRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BackupRefusal';
  }
}

const NOT_WHOLE = Buffer.from('this backup is not whole\n');

/**
 * Copies a catalog as it is at one moment into a folder of its own, while others
 * read and write it. Files that never change are given a second name where the
 * file system can. After this everything is on stable storage.
 * @throws BackupRefusal, and those of the file system.
 */
export async function backUp(parts: RetentionParts, options: BackupOptions): Promise<BackedUp> {
  const target = resolve(options.target);
  await requireFree(parts, target);
  await parts.storage.folders?.make(target);
  // A folder whose format cannot be read is not opened.
  await parts.storage.write(formatPath(target), NOT_WHOLE, 'all');
  // Nothing is removed meanwhile that is needed now.
  return parts.horizon.running.during(() => copy(parts, { ...options, target }));
}

async function requireFree({ storage, root }: RetentionParts, target: string): Promise<void> {
  const entries = (await storage.names(target)) ?? [];
  if (entries.length > 0) throw new BackupRefusal(`${target} is not empty: nothing was written`);
  const data = await storage.resolve(dirname(root));
  const place = await withoutLinks(storage, target);
  if (isIn(place, data) || isIn(data, place)) {
    throw new BackupRefusal(`${target} and the data folder ${data} overlap: nothing was written`);
  }
}

async function withoutLinks(storage: Storage, path: string): Promise<string> {
  try {
    return await storage.resolve(path);
  } catch {
    const parent = dirname(path);
    return parent === path
      ? path
      : join(await withoutLinks(storage, parent), relative(parent, path));
  }
}

function isIn(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || rest.split(sep)[0] !== '..';
}

async function copy(parts: RetentionParts, options: BackupOptions): Promise<BackedUp> {
  const { target, progress } = options;
  const { storage, managed } = parts;
  progress('reading the journal');
  const state = await readState(
    storage,
    parts.journal,
    await journaledMoment(parts.store, parts.committer),
  );
  const [lost] = lostLines(state);
  if (lost !== undefined) throw new BackupRefusal(`${lost}: catalog verify says more`);
  const places = { folder: parts.folder, managed: await withoutLinks(storage, managed), target };
  const tables = await backupTables(state, places);
  const files = new BackupFiles(storage, progress);
  await files.copy(tables, state);
  const folder = join(target, 'catalog');
  await storage.folders?.make(folder);
  await writeSnapshot(storage, folder, state.sequence, movedEntries(state, tables));
  const id = await readId(storage, idPaths(parts.journal).final);
  if (id === undefined) throw new BackupRefusal('the catalog has no id: nothing to back up');
  await storage.putIfAbsent(idPaths(folder).final, Buffer.from(id));
  await copyMaskSecret(storage, parts.maskKey, maskKeyOf(target, undefined));
  // From here on it is a data folder.
  await writeFormat(storage, target);
  const all = [...tables.values()];
  return {
    sequence: state.sequence,
    tables: all.length,
    ...files.counts,
    outside: all.flatMap(({ to, from }) => (to === null ? [wireLocation(from)] : [])),
  };
}
