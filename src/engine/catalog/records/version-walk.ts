import { join } from 'node:path';
import type { Store } from '../../../store/store.ts';
import { allVersionsOf, prefixRange } from './keys.ts';
import type { VersionRecord } from '../../format/records.ts';
import { storedIn, type Snapshot } from '../../format/snapshot.ts';
import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { decodeVersion } from '../../format/version-codec.ts';

/** A version of a table on any branch. */
export interface KnownVersion {
  readonly key: string;
  readonly record: VersionRecord;
}

/** How many records are read at once. */
const CHUNK = 1000;

/** All versions of a table, those of all its branches, each branch from its newest backwards. */
export async function* everyVersion(store: Store, tableId: string): AsyncGenerator<KnownVersion> {
  const { start, end: last } = prefixRange(allVersionsOf(tableId));
  let end = last;
  for (;;) {
    const entries = await store.range({ start, end, limit: CHUNK, reverse: true });
    for (const { key, value } of entries) yield { key, record: decodeVersion(value) };
    if (entries.length < CHUNK) return;
    end = entries.at(-1)?.key ?? start;
  }
}

/** What of a version names files. */
type NamingVersion = Pick<Snapshot, 'fragments' | 'lists'>;

/** The files that a version names beside its manifest, as paths in the table's folder. */
export function filesOf({ fragments, lists = [] }: NamingVersion): readonly string[] {
  const named = fragments.flatMap(({ files, deletions, indices = [] }) => [
    ...files.map(({ path }) => path),
    ...(deletions === null ? [] : [deletions]),
    ...indices.map(({ path }) => path),
  ]);
  return [...named, ...lists.map(({ path }) => path)];
}

/** The same files by their keys in the storage, with their seals. */
export function storedFilesOf(
  folder: string,
  { fragments, lists = [] }: NamingVersion,
): readonly StoredFile[] {
  const named = fragments.flatMap(({ files, deletions, deletionsSeal, indices = [] }) => [
    ...files.map((file) => storedIn(folder, file)),
    ...(deletions === null ? [] : [storedIn(folder, { path: deletions, seal: deletionsSeal })]),
    ...indices.map((file) => storedIn(folder, file)),
  ]);
  return [...named, ...lists.map((list) => storedIn(folder, list))];
}

/** Files that may be removed unless a version names them: paths in the table's folder. */
export interface RemovalCandidates {
  readonly manifests: Set<string>;
  readonly files: Set<string>;
}

export interface WalkParts {
  readonly store: Store;
  /** The files that a committed version of a folder names. */
  readonly named: (folder: string, record: VersionRecord) => Promise<readonly string[]>;
}

/**
 * Takes out of candidates whatever some version of a table names. Versions may
 * come and go meanwhile; a version is made of an older one and of files that
 * are no candidates, so it is enough to look until no version is new.
 * @throws whatever reading a manifest throws while its version is there.
 */
export async function spareNamed(
  { store, named }: WalkParts,
  tableId: string,
  folder: string,
  { manifests, files }: RemovalCandidates,
): Promise<void> {
  const seen = new Set<string>();
  for (let fresh = true; fresh && manifests.size + files.size > 0;) {
    fresh = false;
    for await (const { key, record } of everyVersion(store, tableId)) {
      const mark = `${key} ${record.staging}`;
      if (seen.has(mark)) continue;
      seen.add(mark);
      fresh = true;
      manifests.delete(record.manifest);
      manifests.delete(record.staging);
      if (files.size === 0) continue;
      const paths = await unlessRemoved(store, key, named(folder, record));
      for (const path of paths) files.delete(path);
    }
  }
}

async function unlessRemoved(
  store: Store,
  key: string,
  reading: Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    return await reading;
  } catch (error) {
    if ((await store.get(key)) !== undefined) throw error;
    return [];
  }
}

/** The paths of a table's files in the system, by their paths in its folder. */
export function inFolder(folder: string, paths: Iterable<string>): readonly string[] {
  return [...paths].map((path) => join(folder, path));
}
