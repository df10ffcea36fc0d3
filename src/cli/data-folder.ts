import { chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from './config-table.ts';
import { dataFolderMode } from './file-modes.ts';

/** The places of the data folder that the gateway knows (contract section 9). Absolute paths. */
export interface DataFolder {
  readonly root: string;
  readonly keys: string;
  readonly keyUses: string;
  readonly initialKey: string;
  readonly store: string;
  readonly audit: string;
  /** What is known of the processes that write the audit log. */
  readonly auditProcesses: string;
  /** The key that signs checkpoints, where none is configured. */
  readonly signingKey: string;
  readonly lance: string;
  /** Mode that the data folder is made with. */
  readonly mode: number;
}

/** Where everything of a configuration lies. */
export function dataFolderOf(config: Config): DataFolder {
  const root = resolve(config.data);
  return {
    root,
    keys: join(root, 'private', 'keys.json'),
    keyUses: join(root, 'private', 'key-uses'),
    initialKey: join(root, 'private', 'initial-admin-key'),
    store: join(root, 'private', 'store'),
    audit: join(root, 'private', 'audit'),
    auditProcesses: join(root, 'private', 'audit-processes'),
    signingKey: join(root, 'private', 'audit-signing-key.pem'),
    lance: managedOf(config['locations.managed'], root),
    mode: dataFolderMode(config),
  };
}

/** How the configuration writes the data folder in other paths. */
const DATA = /^<data>(?=\/|$)/;

function managedOf(given: string | null, root: string): string {
  return resolve((given ?? '<data>/lance').replace(DATA, () => root));
}

/**
 * Makes the data folder. Its private part is for this user alone, whoever made
 * it; the folder itself is for its group, too, since Lance clients reach theirs through it.
 */
export async function makeDataFolder(folder: DataFolder): Promise<void> {
  const inner = join(folder.root, 'private');
  if ((await mkdir(folder.root, { recursive: true })) !== undefined) {
    await chmod(folder.root, folder.mode);
  }
  await mkdir(inner, { recursive: true, mode: 0o700 });
  await chmod(inner, 0o700);
}
