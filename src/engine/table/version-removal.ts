import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check } from '../../store/store.ts';
import { commitLoop, type Committer } from '../catalog/commit-loop.ts';
import { versionKey } from '../catalog/keys.ts';
import { unchanged } from '../catalog/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import type { Manifest } from './manifest.ts';
import { headCheck } from './version-commit.ts';
import { MAIN, type VersionStore } from './version-store.ts';

/** Versions that are to go, and those that stay whatever is asked. */
export interface Removal {
  /** Reads the table's record; asked before each attempt. */
  readonly table: () => Promise<Stored<TableRecord>>;
  readonly asked: (version: bigint) => boolean;
  /** The versions that something else names, and the checks that it is still so. */
  readonly kept: (
    table: TableRecord,
  ) => Promise<{ readonly versions: ReadonlySet<bigint>; readonly checks: readonly Check[] }>;
}

/** What a removal works with. */
export interface RemovalParts {
  readonly committer: Committer;
  readonly versions: VersionStore;
  readonly folder: (table: TableRecord) => string;
  readonly load: (folder: string, record: VersionRecord) => Promise<Manifest>;
}

interface Removed {
  readonly table: TableRecord;
  readonly records: readonly VersionRecord[];
}

/** How many version records are read at once. */
const CHUNK = 1000;

/**
 * Removes versions that were asked for, but never the newest nor one that is
 * kept, and then the files that no other version needs.
 * @returns The versions that were removed.
 */
export async function removeVersions(
  parts: RemovalParts,
  removal: Removal,
): Promise<readonly bigint[]> {
  const { table, records } = await commitRemoval(parts, removal);
  if (records.length > 0) await removeFiles(parts, table, records);
  return records.map(({ version }) => version);
}

async function commitRemoval(parts: RemovalParts, removal: Removal): Promise<Removed> {
  let last: Removed | undefined;
  return commitLoop<Removed>(parts.committer, async (doubt) => {
    const table = await removal.table();
    const { id } = table.content;
    const head = await parts.versions.head(id);
    const kept = await removal.kept(table.content);
    const records = (await everyRecord(parts.versions, id)).filter(
      ({ version }) =>
        removal.asked(version) && version !== head?.content.version && !kept.versions.has(version),
    );
    if (records.length === 0) {
      const nothing = { table: table.content, records: [] };
      return { kind: 'done', result: (doubt ? last : undefined) ?? nothing };
    }
    last = { table: table.content, records };
    return {
      kind: 'commit',
      checks: [unchanged(table), headCheck(id, head), ...kept.checks],
      writes: records.map(({ version }) => ({ key: versionKey(id, MAIN, version), value: null })),
      result: last,
    };
  });
}

async function everyRecord(
  versions: VersionStore,
  tableId: string,
): Promise<readonly VersionRecord[]> {
  const all: VersionRecord[] = [];
  for (;;) {
    const after = all.at(-1)?.version;
    const page = { limit: CHUNK, descending: false, ...(after !== undefined && { after }) };
    const found = await versions.list(tableId, page);
    all.push(...found);
    if (found.length < CHUNK) return all;
  }
}

/** Manifests go last: whatever is cut off, they still say which files nobody needs. */
async function removeFiles(
  { versions, folder, load }: RemovalParts,
  table: TableRecord,
  records: readonly VersionRecord[],
): Promise<void> {
  const root = folder(table);
  const needed = new Set<string>();
  for (const record of await everyRecord(versions, table.id)) {
    for (const path of pathsOf(await load(root, record))) needed.add(path);
  }
  for (const record of records) {
    const idle = pathsOf(await load(root, record)).filter((path) => !needed.has(path));
    await Promise.all(idle.map((path) => rm(join(root, path), { force: true })));
  }
  for (const { manifest, staging } of records) {
    await rm(join(root, manifest), { force: true });
    await rm(join(root, staging), { force: true });
  }
}

function pathsOf({ fragments }: Manifest): readonly string[] {
  return fragments.flatMap(({ files, deletions }) => [
    ...files.map(({ path }) => path),
    ...(deletions === null ? [] : [deletions]),
  ]);
}
