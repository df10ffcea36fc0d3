import { LocalStorage } from '../../storage/local-storage.ts';
import { realpathSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { openFormat, requireFormat } from '../../engine/catalog/journal/identity.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Config } from '../config/config-table.ts';
import { UsageError } from '../output/service-error.ts';
import { dataFolderMode } from '../config/file-modes.ts';

/** The places of a data folder. Absolute paths; that of the folder itself leads through no link. */
interface DataPlaces {
  readonly root: string;
  readonly keys: string;
  readonly keyUses: string;
  readonly initialKey: string;
  readonly store: string;
  readonly audit: string;
  /** The processes that write the audit log. */
  readonly auditProcesses: string;
  /** The key that signs checkpoints, where none is configured. */
  readonly signingKey: string;
  /** Which signing key followed which. */
  readonly keyLinks: string;
  /** The start records of instances in the audit log. */
  readonly auditStarts: string;
  readonly lance: string;
  /** Mode that the data folder is made with. */
  readonly mode: number;
}

/** The data folder of a process that may write to it. */
export interface DataFolder extends DataPlaces {
  readonly access: 'write';
}

/** A data folder that is there, and that nothing is written to: only `openedForReading` makes one. */
export interface ReadDataFolder extends DataPlaces {
  readonly access: 'read';
}

/** Where everything of a configuration lies, for a process that may write there. */
export function dataFolderOf(config: Config): DataFolder {
  return { ...placesOf(config), access: 'write' };
}

/**
 * The data folder of a configuration, for a command that only reads: it is never made.
 * @throws UsageError when there is none, with what is missing and what to do.
 */
export async function openedForReading(config: Config): Promise<ReadDataFolder> {
  const places = placesOf(config);
  const fault = await faultOf(places.root);
  if (fault === undefined) return { ...places, access: 'read' };
  throw new UsageError(
    `${places.root} is not a data folder: ${fault}; name the folder that \`arrowgate serve\` uses with --data, ARROWGATE_DATA or the key data`,
  );
}

/** Why a folder is no data folder, if it is none. */
async function faultOf(root: string): Promise<string | undefined> {
  const found = await stat(root).catch(() => undefined);
  if (found === undefined) return 'it does not exist';
  if (!found.isDirectory()) return 'it is a file';
  try {
    if (!(await requireFormat(disk, root))) return 'it has no file FORMAT';
  } catch (error) {
    if (error instanceof CatalogError) return error.message;
    throw error;
  }
  const inner = await stat(join(root, 'private')).catch(() => undefined);
  return inner?.isDirectory() === true ? undefined : 'it has no folder private';
}

function placesOf(config: Config): DataPlaces {
  const root = withoutLinks(resolve(config.data));
  return {
    root,
    keys: join(root, 'private', 'keys.json'),
    keyUses: join(root, 'private', 'key-uses'),
    initialKey: join(root, 'private', 'initial-admin-key'),
    store: join(root, 'private', 'store'),
    audit: join(root, 'private', 'audit'),
    auditProcesses: join(root, 'private', 'audit-processes'),
    signingKey: join(root, 'private', 'audit-signing-key.pem'),
    keyLinks: join(root, 'private', 'audit-keys.jsonl'),
    auditStarts: join(root, 'private', 'audit-starts'),
    lance: managedOf(config['locations.managed'], root),
    mode: dataFolderMode(config),
  };
}

/**
 * Path of a configured folder without symbolic links, which storage does not follow. What is not
 * there yet, or cannot be looked at, stays as it is named.
 */
export function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(withoutLinks(parent), basename(path));
  }
}

/** The disk on which data folders lie. */
export const disk = new LocalStorage();

/** How the configuration writes the data folder in other paths. */
const DATA = /^<data>(?=\/|$)/;

function managedOf(given: string | null, root: string): string {
  return resolve((given ?? '<data>/lance').replace(DATA, () => root));
}

/**
 * Makes the data folder, with its format. Its private part is for this user alone, whoever made
 * it; the folder itself is for its group, too, since Lance clients reach theirs through it.
 * @throws CatalogError ServiceUnavailable for a folder of a newer format.
 */
export async function makeDataFolder(folder: DataFolder): Promise<void> {
  const inner = join(folder.root, 'private');
  if ((await mkdir(folder.root, { recursive: true })) !== undefined) {
    await chmod(folder.root, folder.mode);
  }
  await openFormat(disk, folder.root);
  await mkdir(inner, { recursive: true, mode: 0o700 });
  await chmod(inner, 0o700);
}
