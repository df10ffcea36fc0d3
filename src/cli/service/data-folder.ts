import { LocalStorage } from '../../storage/local-storage.ts';
import { realpathSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { openFormat, readFormat, requireFormat } from '../../engine/catalog/journal/data-format.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { StoreOptions } from '../../store/open/open-store.ts';
import { keyOfLocation } from '../config/config-object-stores.ts';
import type { Config } from '../config/config-table.ts';
import { UsageError } from '../output/service-error.ts';
import { dataFolderMode } from '../config/file-modes.ts';

/** The places of a data folder. Absolute paths; that of the folder itself leads through no link. */
interface DataPlaces {
  readonly root: string;
  readonly keys: string;
  readonly keyUses: string;
  readonly initialKey: string;
  /** The secret that authenticates shared keys. */
  readonly keySecret: string;
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
  /** Temporary files of the Lance library. */
  readonly libraryScratch: string;
  /** Where Lance clients write; the key of an object store if tables lie in one. */
  readonly lance: string;
  /** The journal of the catalog, if it is in an object store: its key. */
  readonly journal: string | undefined;
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

/** Paths of a configuration, for a process that may write there. */
export function dataFolderOf(config: Config): DataFolder {
  return { ...placesOf(config), access: 'write' };
}

/**
 * The data folder of a configuration, for a command that only reads: it is never made.
 * @throws UsageError when there is none, with what is missing and what to do.
 */
export async function openedForReading(config: Config): Promise<ReadDataFolder> {
  return openedIn(config, requireFormat);
}

/** The same for a folder of any format that is not newer, which `catalog upgrade` examines. */
export async function openedForUpgrade(config: Config): Promise<ReadDataFolder> {
  const hasFormat = async (...place: Parameters<typeof readFormat>) =>
    (await readFormat(...place)) !== undefined;
  return openedIn(config, hasFormat);
}

async function openedIn(config: Config, hasFormat: typeof requireFormat): Promise<ReadDataFolder> {
  const places = placesOf(config);
  const fault = await faultOf(places.root, hasFormat);
  if (fault === undefined) return { ...places, access: 'read' };
  throw new UsageError(
    `${places.root} is not a data folder: ${fault}; name the folder that \`arrowgate serve\` uses with --data, ARROWGATE_DATA or the key data`,
  );
}

/** Why a folder is no data folder, if it is none. */
async function faultOf(root: string, hasFormat: typeof requireFormat): Promise<string | undefined> {
  const found = await stat(root).catch(() => undefined);
  if (found === undefined) return 'it does not exist';
  if (!found.isDirectory()) return 'it is a file';
  try {
    if (!(await hasFormat(disk, root))) return 'it has no file FORMAT';
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
    keySecret: resolve(config['keys.secret_file'] ?? join(root, 'private', 'key-secret')),
    store: join(root, 'private', 'store'),
    audit: join(root, 'private', 'audit'),
    auditProcesses: join(root, 'private', 'audit-processes'),
    signingKey: join(root, 'private', 'audit-signing-key.pem'),
    keyLinks: join(root, 'private', 'audit-keys.jsonl'),
    auditStarts: join(root, 'private', 'audit-starts'),
    libraryScratch: join(root, 'private', 'library'),
    lance: managedOf(config, root),
    journal: keyOfLocation(config.journal ?? '', config.object_stores),
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

/** Where the store of a configuration is. */
export function storeOf(config: Config, { store }: Pick<DataFolder, 'store'>): StoreOptions {
  return {
    redis: config['coordination.redis'],
    catalog: config['coordination.catalog'],
    folder: store,
  };
}

/** The disk on which data folders lie. */
export const disk = new LocalStorage();

/** The data folder in other paths of the configuration. */
const DATA = /^<data>(?=\/|$)/;

function managedOf(
  { 'locations.managed': given, object_stores: stores }: Config,
  root: string,
): string {
  const location = given ?? '<data>/lance';
  return keyOfLocation(location, stores) ?? resolve(location.replace(DATA, () => root));
}

/**
 * Makes the data folder, with its format. Its private part is for this user alone; the folder itself is
 * for its group, too, since Lance clients reach theirs through it.
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
