import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { KeyFileError } from '../../gateway/identity/key-document.ts';
import { hasOwnKeys, readKeys } from '../../gateway/identity/key-file.ts';
import { unionOf } from '../../gateway/identity/key-union.ts';
import type { StoredKey } from '../../gateway/identity/keys.ts';
import type { SharedKeys } from '../../gateway/identity/shared-keys.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { StorageUnavailable } from '../../storage/storage-error.ts';
import { StoreError } from '../../store/store-error.ts';
import { configOf } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import type { Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { dataFolderOf, openedForReading, type DataFolder } from '../service/data-folder.ts';
import {
  makeKeySecret,
  readKeySecret,
  replaceKeySecret,
  secretMissing,
} from '../service/key-secret.ts';
import { areShared, openSharedKeys } from '../service/open-keys.ts';
import { Opened } from '../service/opened.ts';
import { recorded } from '../service/recorded-command.ts';
import { isServed } from '../service/served-folder.ts';

/** How long a move is repeated while Redis or the object store does not answer, in ms. */
export const KEY_MOVE_MILLIS = 60_000;
const PAUSE_MILLIS = 500;

/** Keys of one change: its line in the journal stays below 64 KiB. */
const BATCH = 100;

interface MoveFlags {
  readonly json?: boolean;
  readonly newSecret?: boolean;
}

/** The action of `arrowgate keys move`. */
export function addMove(move: Command, run: Run): void {
  move.option('--new-secret', 'make a new secret for keys that are shared already');
  move.action(async (flags: MoveFlags, command: Command) => {
    const config = configOf(command);
    if (config['coordination.redis'] === null) {
      throw new UsageError(
        'keys are shared through Redis: name it with --redis; with the embedded store they stay in the data folder',
      );
    }
    await openedForReading(config);
    const folder = dataFolderOf(config);
    if (await isServed(folder)) {
      throw new UsageError(`a gateway runs on ${folder.root}: stop it, move the keys, start it`);
    }
    const details = { secret: flags.newSecret === true ? 'new' : 'kept' };
    const act = { operation: 'KeysMove', details } as const;
    const move = flags.newSecret === true ? resealKeys : moveKeys;
    const moved = await recorded(config, act, async () => {
      const result = await onceAvailable(() => move(config, folder));
      return { result, details: { keys: String(result) } };
    });
    const text = `moved ${moved} ${moved === 1 ? 'key' : 'keys'}; other gateways of the catalog need a copy of ${folder.keySecret}`;
    run.output.line(
      flags.json === true ? JSON.stringify({ moved, secret: folder.keySecret }) : text,
    );
  });
}

/** Repeats a move, which may be repeated, while Redis or the object store does not answer. */
async function onceAvailable<Result>(work: () => Promise<Result>): Promise<Result> {
  const until = performance.now() + KEY_MOVE_MILLIS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error) || performance.now() >= until) throw error;
    }
    await sleep(PAUSE_MILLIS);
  }
}

function isTemporary(error: unknown): boolean {
  if (error instanceof StoreError) return error.kind === 'unavailable';
  if (error instanceof CatalogError) return error.row.name === 'ServiceUnavailable';
  return error instanceof StorageUnavailable;
}

/** Returns the number of keys of the data folder. */
async function moveKeys(config: Config, folder: DataFolder): Promise<number> {
  const own = (await hasOwnKeys(folder.keys)) ? await readKeys(folder.keys) : [];
  let secret = await readKeySecret(config, folder);
  if (secret === undefined && (await areShared(config, folder))) throw secretMissing(folder);
  secret ??= await makeKeySecret(config, folder);
  return withShared({ config, folder, secret }, async (keys) => {
    await addAll(keys, own);
    return own.length;
  });
}

interface Place {
  readonly config: Config;
  readonly folder: DataFolder;
  readonly secret: Buffer;
}

async function withShared<Result>(
  place: Place,
  work: (keys: SharedKeys) => Promise<Result>,
): Promise<Result> {
  const opened = new Opened();
  try {
    return await work(await openSharedKeys({ ...place, opened }));
  } finally {
    await opened.close();
  }
}

/**
 * Seals shared keys with a new secret. With the old one they are brought up to date before; without, those of
 * this data folder count. Returns their number.
 */
async function resealKeys(config: Config, folder: DataFolder): Promise<number> {
  const old = await readKeySecret(config, folder);
  if (old !== undefined) await upToDate({ config, folder, secret: old });
  const secret = await replaceKeySecret(folder);
  return withShared({ config, folder, secret }, (keys) => keys.reseal());
}

/** An earlier run may have sealed some of it with another secret: then the copy counts. */
async function upToDate(place: Place): Promise<void> {
  try {
    await withShared(place, (keys) => keys.look());
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
  }
}

/** The file keeps its own keys until all are in the store, so a move that was cut off is repeated. */
async function addAll(keys: SharedKeys, own: readonly StoredKey[]): Promise<void> {
  for (let at = 0; at < own.length; at += BATCH) {
    const batch = own.slice(at, at + BATCH);
    await keys.update((stored) => [...unionOf(stored, batch).values()], 'leave');
  }
  await keys.look('replace');
}
