import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreEntry, Write } from '../../store/store.ts';
import { decodeBranch } from '../catalog/branch-codec.ts';
import type { JournalState } from '../catalog/journal-state.ts';
import { decodeDropped, decodeTable } from '../catalog/records-codec.ts';
import type { TableKind, TableRecord, VersionRecord } from '../catalog/records.ts';
import { readIfPresent } from '../disk.ts';
import { versionsBeyond } from '../managed/versions-beyond.ts';
import { MAIN } from '../table/chain.ts';
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

/** The head of a line of versions. */
interface Head {
  readonly tableId: string;
  /** `main`, or a branch's id. */
  readonly chain: string;
  readonly version: bigint;
}

/** The head of a line of versions of a table whose files lie in a folder. */
interface PlacedHead extends Head {
  readonly kind: TableKind;
  readonly folder: string;
  /** The name of its branch. */
  readonly branch: string;
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
    const { tableId, chain, kind, folder, branch } = head;
    const found =
      kind === 'engine'
        ? await ownVersions(head, unsound)
        : await versionsBeyond(folder, branch, head.version);
    for (const record of found) {
      const { version } = record;
      versions.push({ tableId, chain, version, writes: versionWrites(tableId, record, chain) });
    }
  }
  return { versions, unsound };
}

/** The versions that follow a head of a table that this engine writes. */
async function ownVersions(head: PlacedHead, unsound: string[]): Promise<readonly VersionRecord[]> {
  const found: VersionRecord[] = [];
  for (let version = head.version + 1n; ; version++) {
    const next = await finalVersion(head, version);
    if (typeof next === 'string') unsound.push(next);
    if (next === undefined || typeof next === 'string') return found;
    found.push(next);
  }
}

async function headsOf(state: JournalState, root: string): Promise<readonly PlacedHead[]> {
  const tables = new Map<string, TableRecord>();
  const branches = new Map<string, string>();
  const heads: Head[] = [];
  for await (const entry of state.entries()) {
    const { key, value } = entry;
    const table = tableOf(entry);
    if (table !== undefined) tables.set(table.id, table);
    if (key.startsWith('H')) heads.push(headOf(entry));
    if (key.startsWith('B')) branches.set(decodeBranch(value).id, key.slice(key.indexOf('/') + 1));
  }
  return heads.flatMap((head) => {
    const table = tables.get(head.tableId);
    const branch = head.chain === MAIN ? MAIN : branches.get(head.chain);
    if (table === undefined || branch === undefined) return [];
    const { kind, location } = table;
    return [{ ...head, kind, branch, folder: location ?? join(root, table.id) }];
  });
}

function tableOf({ key, value }: StoreEntry): TableRecord | undefined {
  if (key.startsWith('T')) return decodeTable(value);
  return key.startsWith('D') ? decodeDropped(value).record : undefined;
}

function headOf({ key, value }: StoreEntry): Head {
  const slash = key.indexOf('/');
  const chain = decodeURIComponent(key.slice(slash + 1));
  return { tableId: key.slice(1, slash), chain, version: decodeVersion(value).version };
}

/** The record of a version whose manifest has its final name; the manifest's path when it is not sound, undefined when there is none. */
async function finalVersion(
  { folder, chain }: PlacedHead,
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
