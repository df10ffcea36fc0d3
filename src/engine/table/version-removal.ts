import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check } from '../../store/store.ts';
import { commitLoop, type Committer } from '../catalog/commit-loop.ts';
import { versionKey } from '../catalog/keys.ts';
import { unchanged } from '../catalog/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import type { Manifest } from './manifest.ts';
import { headCheck } from './version-commit.ts';
import { MAIN_CHAIN, type Chain } from './chain.ts';
import type { VersionStore } from './version-store.ts';

/** Versions that are to go, and those that stay whatever is asked. */
export interface Removal {
  /** Reads the table's record; asked before each attempt. */
  readonly table: () => Promise<Stored<TableRecord>>;
  /** The line whose own versions are meant, read with the table; the main one unless it is given. */
  readonly chain?: (table: TableRecord) => Promise<Chain>;
  readonly asked: (version: bigint) => boolean;
  /** The versions of the line that something else names, and the checks that it is still so. */
  readonly kept: (
    table: TableRecord,
    chain: Chain,
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
    const chain = (await removal.chain?.(table.content)) ?? MAIN_CHAIN;
    const head = await parts.versions.head(id, chain);
    const kept = await removal.kept(table.content, chain);
    const records = (await parts.versions.madeOn(id, chain.key)).filter(
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
      checks: [unchanged(table), headCheck(id, head, chain.key), ...kept.checks],
      writes: records.map(({ version }) => ({
        key: versionKey(id, chain.key, version),
        value: null,
      })),
      result: last,
    };
  });
}

/**
 * Removes the files of versions whose records are gone, but for those that another
 * version of the table needs, on whatever branch. Manifests go last: whatever is
 * cut off, they still say which files nobody needs.
 */
export async function removeFiles(
  { versions, folder, load }: Omit<RemovalParts, 'committer'>,
  table: TableRecord,
  records: readonly VersionRecord[],
): Promise<void> {
  const root = folder(table);
  const needed = new Set<string>();
  for (const record of await versions.everywhere(table.id)) {
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
