import { dirname } from 'node:path';
import { fileKeyBook, sharedKeyBook, type KeyBook } from '../../gateway/identity/key-book.ts';
import { KeyFileError } from '../../gateway/identity/key-document.ts';
import { replaceFile } from '../../gateway/identity/key-file.ts';
import { KeyFollower } from '../../gateway/identity/key-follower.ts';
import { KeyRing } from '../../gateway/identity/key-ring.ts';
import { KeyUse } from '../../gateway/identity/key-use.ts';
import { makeKey } from '../../gateway/identity/keys.ts';
import { folderUses, type UseBoard } from '../../gateway/identity/use-board.ts';
import { messageOf } from '../../store/store-error.ts';
import { disk, type DataFolder } from './data-folder.ts';
import { openSharedKeys, sharedSecret, sharedUses } from './open-keys.ts';
import { Opened, type Start } from './opened.ts';

/** The API keys of a gateway. */
export interface GatewayKeys {
  readonly keys: KeyRing;
  readonly book: KeyBook;
}

/**
 * Opens the keys of a gateway, and makes the first one.
 * @param unwritable Why the data folder can only be read; undefined if it can be written.
 * @throws KeyFileError, UsageError if it cannot start
 */
export async function openKeys(
  start: Start,
  folder: DataFolder,
  unwritable: string | undefined,
): Promise<GatewayKeys> {
  const { config, log, opened } = start;
  const secret = await sharedSecret(config, folder);
  const follower = secret && openFollower(start, folder, secret);
  const uses =
    follower === undefined ? folderUses(folder.keyUses) : await sharedUses(config, folder, opened);
  const book =
    follower === undefined
      ? fileKeyBook(folder.keys, uses)
      : sharedKeyBook(() => follower.keys(), uses);
  if (follower === undefined) await firstKey(start, folder, book);
  else await firstLook(start, folder, { follower, book, unwritable });
  const use = await openUse(start, uses);
  const onFault = (fault: string): void => {
    log.error({ fault }, 'the keys file was refused; the last good keys stay in force');
  };
  const keys = new KeyRing(
    folder.keys,
    config.admin_key ?? undefined,
    onFault,
    (id, now) => use.note(id, now),
    follower,
  );
  return { keys, book };
}

async function openUse({ log, opened }: Start, uses: UseBoard): Promise<KeyUse> {
  const use = await KeyUse.open(uses, (error) => {
    log.warn({ err: error }, 'the times of key uses cannot be written');
  });
  opened.add(() => use.close());
  return use;
}

function openFollower(
  { config, log, metrics, opened }: Start,
  folder: DataFolder,
  secret: Buffer,
): KeyFollower {
  const follower = new KeyFollower({
    open: async (onFault) => {
      const into = new Opened();
      try {
        const keys = await openSharedKeys({ config, folder, secret, opened: into, onFault });
        opened.add(() => into.close());
        return keys;
      } catch (error) {
        await into.close();
        throw error;
      }
    },
    onFault: ({ kind, sentence }) => {
      metrics.count('keyFaults', kind);
      log.error({ kind }, sentence);
    },
    onLost: (reason) => {
      if (reason === undefined) log.info('the API keys can be compared with Redis again');
      else log.error({ fault: reason }, 'the API keys cannot be compared with Redis');
    },
  });
  return follower;
}

interface FirstLook {
  readonly follower: KeyFollower;
  readonly book: KeyBook;
  readonly unwritable: string | undefined;
}

/** Keys that cannot be reached do not prevent a start: requests with them get 503 until then. */
async function firstLook(
  start: Start,
  folder: DataFolder,
  { follower, book, unwritable }: FirstLook,
): Promise<void> {
  try {
    await follower.first();
    await firstKey(start, folder, book);
  } catch (error) {
    if (error instanceof KeyFileError && unwritable === undefined) throw error;
    start.log.error({ fault: messageOf(error) }, 'the API keys cannot be read from Redis yet');
  }
  follower.begin();
  start.opened.add(() => follower.close());
}

async function firstKey(
  { config, output }: Start,
  folder: DataFolder,
  book: KeyBook,
): Promise<void> {
  if (config.admin_key !== null || (await book.read()).length > 0) return;
  const text = await makeFirstKey(folder, book);
  if (text !== undefined && output.watched) {
    output.note(`administrator key, shown this once and kept in ${folder.initialKey}: ${text}`);
  }
}

/**
 * Makes the first administrator key: its text goes into a file of mode 0600,
 * its hash to the keys. Gives the text; undefined when there is a key, since
 * another process that starts at the same time has made it.
 */
export async function makeFirstKey(folder: DataFolder, book: KeyBook): Promise<string | undefined> {
  const details = { subject: 'user:admin', roles: ['role:admin'], expires: null };
  // Gateways that share keys try at the same moment, so each text has a file of its own until its key is stored.
  const pathOf = (id: string): string => `${folder.initialKey}.${id}`;
  const tried: ReturnType<typeof makeKey>[] = [];
  await book.update(async (keys) => {
    if (keys.length > 0) return keys;
    const made = makeKey(details, new Date());
    tried.push(made);
    // Before the keys have it: after a crash in between, no key without a holder is stored.
    await replaceFile(pathOf(made.stored.id), `${made.text}\n`);
    return [made.stored];
  });
  const ids = new Set((await book.read()).map(({ id }) => id));
  const first = tried.find(({ stored }) => ids.has(stored.id));
  for (const { stored } of tried) {
    if (stored.id === first?.stored.id) disk.rename(pathOf(stored.id), folder.initialKey);
    else disk.discard(pathOf(stored.id));
  }
  if (tried.length > 0) await disk.flush(dirname(folder.initialKey));
  return first?.text;
}
