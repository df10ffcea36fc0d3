import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { requireFormat } from '../../engine/catalog/journal/data-format.ts';
import { readKeys } from '../../gateway/identity/key-file.ts';
import type { LastUses } from '../../gateway/identity/key-use.ts';
import { keyState, type StoredKey } from '../../gateway/identity/keys.ts';
import type { Callers } from '../../policy/strangers.ts';
import { settings, type Config } from '../config/config-table.ts';
import { disk, dataFolderOf } from './data-folder.ts';
import { UsageError } from '../output/service-error.ts';

/** The keys of a data folder, for commands that compare them with a policy. */
export interface KnownKeys {
  /** All of them, in the order of the file; undefined when there is no data folder. */
  readonly all: readonly StoredKey[] | undefined;
  /** Why none were seen. */
  readonly unseen: string | undefined;
}

/**
 * Reads the keys of the data folder of a configuration. Nothing is made.
 * @throws KeyFileError, and UsageError when the folder that was named is no data folder.
 */
export async function knownKeys(config: Config): Promise<KnownKeys> {
  const folder = dataFolderOf(config);
  if (await isDataFolder(folder.root)) {
    return { all: await readKeys(folder.keys), unseen: undefined };
  }
  const fault = `${folder.root} is not a data folder`;
  if (resolve(config.data) !== resolve(settings.data.default)) {
    throw new UsageError(`${fault}: name the folder that \`arrowgate serve\` uses with --data`);
  }
  const text = `the keys of ${folder.keys} were not seen, and so no roles and scopes of keys`;
  return { all: undefined, unseen: `${text}: ${fault}, name one with --data` };
}

/** The public fields of a key: everything but its hash. */
export interface KeyInventory extends Omit<StoredKey, 'hash'> {
  /** RFC 3339; null if it was never used. */
  readonly last_used: string | null;
  readonly state: ReturnType<typeof keyState>;
}

export function keyInventory(key: StoredKey, uses: LastUses, now: Date): KeyInventory {
  const { hash: _hash, ...rest } = key;
  return { ...rest, last_used: uses.get(key.id) ?? null, state: keyState(key, now) };
}

/** Whether this program created a folder; faults of its format are reported later. */
export async function isDataFolder(root: string): Promise<boolean> {
  if (await requireFormat(disk, root)) return true;
  const inner = await stat(join(root, 'private')).catch(() => undefined);
  return inner?.isDirectory() === true;
}

/** The keys that may be used at a moment. */
export function activeKeys(keys: readonly StoredKey[], now: Date): readonly StoredKey[] {
  return keys.filter((key) => keyState(key, now) === 'active');
}

/** The principals that a policy may meet under a configuration. Before the first key exists, any may come. */
export function callersOf(config: Config, { all }: KnownKeys): Callers {
  return {
    keys: all === undefined || all.length === 0 ? undefined : activeKeys(all, new Date()),
    certificates: config['listen.tls.client_ca'] !== null,
  };
}
