import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreEntry, Write } from '../../store/store.ts';
import type { JournalState } from '../catalog/journal-state.ts';
import { decodeDropped, decodeTable } from '../catalog/records-codec.ts';
import type { TableRecord, VersionRecord } from '../catalog/records.ts';
import { readIfPresent } from '../disk.ts';
import { manifestName, stagingName } from '../table/layout.ts';
import { decodeManifest, type Manifest } from '../table/manifest.ts';
import { decodeVersion } from '../table/version-codec.ts';
import { versionWrites } from '../table/version-commit.ts';

/** A version on disk that the journal does not know. */
export interface VersionAhead {
  readonly tableId: string;
  /** `main`, or a branch's id. */
  readonly chain: string;
  readonly version: bigint;
  readonly writes: readonly Write[];
}

/** The head of a line of versions of a table that this engine writes. */
interface Head {
  readonly folder: string;
  readonly tableId: string;
  readonly chain: string;
  readonly version: bigint;
}

/** What lies on disk beyond the heads of a state. */
export interface Ahead {
  readonly versions: readonly VersionAhead[];
  /** Absolute paths of manifests that are no version: damaged, or without all files that they name. */
  readonly unsound: readonly string[];
}

/**
 * The versions that follow the heads of a state on disk. A manifest gets its
 * final name only after the store has committed its version, and it was committed
 * on the very head that it follows: so it was the next version, and somebody may
 * have read it, though nobody was told yet that it is acknowledged. Going on
 * without it would meet its name again with other contents.
 * @param root The folder that holds a folder for each table.
 */
export async function versionsAhead(state: JournalState, root: string): Promise<Ahead> {
  const versions: VersionAhead[] = [];
  const unsound: string[] = [];
  for (const head of await headsOf(state, root)) {
    for (let version = head.version + 1n; ; version++) {
      const found = await finalVersion(head, version);
      if (typeof found === 'string') unsound.push(found);
      if (found === undefined || typeof found === 'string') break;
      const { tableId, chain } = head;
      versions.push({ tableId, chain, version, writes: versionWrites(tableId, found, chain) });
    }
  }
  return { versions, unsound };
}

/** Heads come before tables in the order of keys. */
async function headsOf(state: JournalState, root: string): Promise<readonly Head[]> {
  const folders = new Map<string, string>();
  const heads: Omit<Head, 'folder'>[] = [];
  for await (const entry of state.entries()) {
    const table = tableOf(entry);
    if (table?.kind === 'engine') folders.set(table.id, table.location ?? join(root, table.id));
    if (entry.key.startsWith('H')) heads.push(headOf(entry));
  }
  return heads.flatMap((head) => {
    const folder = folders.get(head.tableId);
    return folder === undefined ? [] : [{ ...head, folder }];
  });
}

function tableOf({ key, value }: StoreEntry): TableRecord | undefined {
  if (key.startsWith('T')) return decodeTable(value);
  return key.startsWith('D') ? decodeDropped(value).record : undefined;
}

function headOf({ key, value }: StoreEntry): Omit<Head, 'folder'> {
  const slash = key.indexOf('/');
  const chain = decodeURIComponent(key.slice(slash + 1));
  return { tableId: key.slice(1, slash), chain, version: decodeVersion(value).version };
}

/** The record of a version whose manifest has its final name; the manifest's path when it is not sound, undefined when there is none. */
async function finalVersion(
  { folder, chain }: Head,
  version: bigint,
): Promise<VersionRecord | string | undefined> {
  const manifest = manifestName(version, chain);
  const path = join(folder, manifest);
  const bytes = await readIfPresent(path);
  if (bytes === undefined) return undefined;
  const read = await decodeManifest(bytes).catch(() => undefined);
  if (read?.version !== version || !(await isWhole(folder, read))) return path;
  const { timestampMillis } = read;
  const staging = stagingName(version, chain);
  const manifestBytes = bytes.byteLength;
  return { version, timestampMillis, manifest, staging, manifestBytes, metadata: {} };
}

/** Whether every file is there that a manifest names. */
async function isWhole(folder: string, { fragments }: Manifest): Promise<boolean> {
  const files = fragments.flatMap((fragment) => fragment.files);
  const lists = fragments.flatMap(({ deletions }) => deletions ?? []);
  const found = await Promise.all([
    ...files.map(async ({ path, bytes }) => (await sizeOf(join(folder, path))) === bytes),
    ...lists.map(async (path) => (await sizeOf(join(folder, path))) !== undefined),
  ]);
  return !found.includes(false);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
