import { openCoordination, openReadCoordination } from '../../engine/coordination.ts';
import { folderJournal } from '../../engine/catalog/journal/journal-place.ts';
import { idPaths, readId } from '../../engine/catalog/records/catalog-id.ts';
import { fileKeyBook, sharedKeyBook, type KeyBook } from '../../gateway/identity/key-book.ts';
import { KeyFileError } from '../../gateway/identity/key-document.ts';
import { hasOwnKeys, ownKeysFault, readCopy } from '../../gateway/identity/key-file.ts';
import { KeyObjects } from '../../gateway/identity/key-objects.ts';
import { KeySeal } from '../../gateway/identity/key-seal.ts';
import type { KeyFault } from '../../gateway/identity/sealed-keys.ts';
import { SharedKeys } from '../../gateway/identity/shared-keys.ts';
import { folderUses, notedUses, type UseBoard } from '../../gateway/identity/use-board.ts';
import { isOutage } from '../../storage/storage-error.ts';
import { openNotes, openStore, openStoreForReading } from '../../store/open/open-store.ts';
import type { Config } from '../config/config-table.ts';
import { storeOf, type DataFolder, type ReadDataFolder } from './data-folder.ts';
import { readKeySecret, secretMissing } from './key-secret.ts';
import { openStorage } from './object-stores.ts';
import { Opened } from './opened.ts';

type Folder = DataFolder | ReadDataFolder;

/**
 * The secret of the keys that the gateways of a catalog share; undefined if each data folder has keys
 * of its own.
 * @throws UsageError or KeyFileError where a gateway cannot start so.
 */
export async function sharedSecret(config: Config, folder: Folder): Promise<Buffer | undefined> {
  if (config['coordination.redis'] === null) return undefined;
  const secret = await readKeySecret(config, folder);
  if (secret === undefined) {
    const isCopy = (await readCopy(folder.keys)) !== undefined;
    if (isCopy || (await areKnownToBeShared(config, folder))) {
      throw secretMissing(folder);
    }
  } else if (await hasOwnKeys(folder.keys)) throw new KeyFileError(ownKeysFault(folder.keys));
  return secret;
}

/** Whether gateways of the catalog share their keys, by the journal. @throws StorageUnavailable, StorageRefused */
export async function areShared(config: Config, folder: Folder): Promise<boolean> {
  const { storage, close } = await openStorage(config, folder);
  try {
    return (await new KeyObjects(storage, journalOf(folder)).last()) > 0;
  } finally {
    close();
  }
}

/** The same; false while the journal is unavailable. */
async function areKnownToBeShared(config: Config, folder: Folder): Promise<boolean> {
  try {
    return await areShared(config, folder);
  } catch (error) {
    if (!isOutage(error)) throw error;
    return false;
  }
}

function journalOf({ journal, root }: Folder): string {
  return journal ?? folderJournal(root);
}

/** What shared keys are opened with. */
interface SharedOptions {
  readonly config: Config;
  readonly folder: Folder;
  readonly secret: Buffer;
  /** Closes what is opened. */
  readonly opened: Opened;
  readonly onFault?: (fault: KeyFault) => void;
}

/** Opens the keys in the store of a catalog; a folder for reading gets keys that are only read. */
export async function openSharedKeys(options: SharedOptions): Promise<SharedKeys> {
  const { config, folder, secret, opened, onFault } = options;
  const place = { data: folder.root, journal: journalOf(folder) };
  const isRead = folder.access === 'read';
  const store = await (isRead ? openStoreForReading : openStore)(storeOf(config, folder));
  opened.add(() => store.close());
  const { storage, close } = await openStorage(config, folder);
  opened.add(close);
  const open = isRead ? openReadCoordination : openCoordination;
  const coordination = await open(storage, place, store);
  opened.add(() => coordination.journal.close());
  const catalog = (await readId(storage, idPaths(place.journal).final)) ?? '';
  return new SharedKeys({
    store: coordination.store,
    committer: isRead ? undefined : coordination.committer,
    objects: new KeyObjects(storage, place.journal),
    seal: new KeySeal(secret, catalog),
    copy: folder.keys,
    ...(onFault !== undefined && { onFault }),
  });
}

/** Where the uses of keys are noted. */
export async function openUses(config: Config, folder: Folder, opened: Opened): Promise<UseBoard> {
  const secret = await sharedSecret(config, folder);
  if (secret === undefined) return folderUses(folder.keyUses);
  return sharedUses(config, folder, opened);
}

/** Where the uses of shared keys are noted. */
export async function sharedUses(
  config: Config,
  folder: Folder,
  opened: Opened,
): Promise<UseBoard> {
  const uses = notedUses(await openNotes(storeOf(config, folder), 'key-uses'));
  opened.add(() => uses.close());
  return uses;
}

/**
 * The keys of a data folder, for a command.
 * @throws UsageError or KeyFileError where a gateway could not start with them.
 */
export async function openKeyBook(
  config: Config,
  folder: Folder,
  opened: Opened,
): Promise<KeyBook> {
  const secret = await sharedSecret(config, folder);
  if (secret === undefined) return fileKeyBook(folder.keys, folderUses(folder.keyUses));
  const keys = await openSharedKeys({ config, folder, secret, opened });
  return sharedKeyBook(async () => keys, await sharedUses(config, folder, opened));
}

/** Does something with the keys of a data folder, and closes them. */
export async function withKeyBook<Result>(
  config: Config,
  folder: Folder,
  work: (book: KeyBook) => Promise<Result>,
): Promise<Result> {
  const opened = new Opened();
  try {
    return await work(await openKeyBook(config, folder, opened));
  } finally {
    await opened.close();
  }
}
