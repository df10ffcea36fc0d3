import { join, dirname } from 'node:path';
import { ownSeal } from '../../../arrow/sealed/sealed-file.ts';
import { bytesAccess } from '../../format/memory/random-access.ts';
import type { Write } from '../../../store/store.ts';
import type { JournalState } from '../../catalog/journal/journal-state.ts';
import type { VersionRecord } from '../../format/records.ts';
import type { Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { manifestName, stagingName } from '../../format/layout.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import type { Manifest } from '../../format/manifest.ts';
import { versionWrites } from '../../versions/lines/version-store.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import { MAIN } from '../../format/chain.ts';
import { declaredTables, headsOf, type DeclaredTable, type PlacedHead } from './journaled-heads.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { lanceVersions, type LanceVersion } from '../../format/lance/versions.ts';
import { versionsFolder } from '../../versions/managed/place.ts';
import { recordOfFile } from '../../versions/managed/managed-manifests.ts';

/** A version on disk that the journal does not know. */
interface VersionAhead {
  readonly tableId: string;
  /** `main`, or a branch's id. */
  readonly chain: string;
  readonly version: bigint;
  readonly writes: readonly Write[];
}

/** Versions on disk beyond the heads of a state. */
export interface Ahead {
  readonly versions: readonly VersionAhead[];
  /** Absolute paths of manifests that are no version: damaged, or without all files that they name. */
  readonly unsound: readonly string[];
}

/**
 * The versions that follow the heads of a state on disk. A manifest gets its final name only after the
 * store has committed its version on the head that it follows. So it was the next version, and clients may
 * have read it, even if it was not acknowledged. Without it, a later version would meet its name with
 * other contents.
 * @param root The folder that holds a folder for each table.
 */
export async function versionsAhead(
  storage: Storage,
  state: JournalState,
  root: string,
): Promise<Ahead> {
  const versions: VersionAhead[] = [];
  const unsound: string[] = [];
  for (const head of await headsOf(state, root)) {
    const { tableId, chain, kind, folder, branch } = head;
    const found =
      kind === 'engine'
        ? await ownVersions(storage, head, unsound)
        : await versionsAfter(storage, folder, branch, head.version);
    for (const record of found) {
      const { version } = record;
      versions.push({ tableId, chain, version, writes: versionWrites(tableId, record, chain) });
    }
  }
  for (const table of await declaredTables(state))
    versions.push(...(await firstVersions(storage, table)));
  return { versions, unsound };
}

/** The versions of a declared table: the first one makes it a table that Lance clients write. */
async function firstVersions(
  storage: Storage,
  { key, record, folder }: DeclaredTable,
): Promise<readonly VersionAhead[]> {
  const found = await versionsAfter(storage, folder, MAIN, 0n);
  return found.map((one, index) => {
    const claim = { key, value: encodeTable({ ...record, kind: 'lance' }) };
    const writes = [...(index === 0 ? [claim] : []), ...versionWrites(record.id, one, MAIN)];
    return { tableId: record.id, chain: MAIN, version: one.version, writes };
  });
}

/** The versions that follow a head of a table that this engine writes. */
async function ownVersions(
  storage: Storage,
  head: PlacedHead,
  unsound: string[],
): Promise<readonly VersionRecord[]> {
  const found: VersionRecord[] = [];
  for (let version = head.version + 1n; ; version++) {
    const next = await finalVersion(storage, head, version);
    if (typeof next === 'string') unsound.push(next);
    if (next === undefined || typeof next === 'string') return found;
    found.push(next);
  }
}

/** The record of a version whose manifest has its final name; the manifest's path when it is not sound, undefined when there is none. */
async function finalVersion(
  storage: Storage,
  { folder, chain }: PlacedHead,
  version: bigint,
): Promise<VersionRecord | string | undefined> {
  const manifest = manifestName(version, chain);
  const path = join(folder, manifest);
  const bytes = await unlessMissing(storage.read(path, 'all'));
  if (bytes === undefined) return undefined;
  // No record names the file: it must match the seal that it holds itself, or be from before seals.
  const seal = await ownSeal(bytesAccess(bytes), path);
  const staging = stagingName(version, chain);
  const named = { manifest, staging, ...(seal !== undefined && { seal }) };
  const read = await new VersionReader(storage)
    .decode(folder, bytes, named, 'all')
    .catch(() => undefined);
  if (read?.version !== version || !(await isWhole(storage, folder, read))) return path;
  const { timestampMillis } = read;
  return { version, timestampMillis, manifestBytes: bytes.byteLength, metadata: {}, ...named };
}

/** Whether every file is there that a manifest names. */
async function isWhole(
  storage: Storage,
  folder: string,
  { fragments }: Manifest,
): Promise<boolean> {
  const files = fragments.flatMap(({ files: data, indices = [] }) => [...data, ...indices]);
  const lists = fragments.flatMap(({ deletions }) => deletions ?? []);
  const found = await Promise.all([
    ...files.map(async ({ path, bytes }) => (await sizeOf(storage, join(folder, path))) === bytes),
    ...lists.map(async (path) => (await sizeOf(storage, join(folder, path))) !== undefined),
  ]);
  return !found.includes(false);
}

async function sizeOf(storage: Storage, path: string): Promise<number | undefined> {
  return (await storage.stat(path))?.bytes;
}

/**
 * The versions of a line of a Lance table that follow one without a gap: those that have
 * a manifest under its final name, which is theirs and can be read.
 * @param head The version that they follow.
 */
async function versionsAfter(
  storage: Storage,
  location: string,
  branch: string,
  head: bigint,
): Promise<readonly VersionRecord[]> {
  const found: VersionRecord[] = [];
  const folder = join(location, dirname(versionsFolder(branch)));
  for (const one of await lanceVersions(storage, folder)) {
    if (one.version <= head + BigInt(found.length)) continue;
    const isNext = one.version === head + BigInt(found.length) + 1n;
    if (!isNext || !(await isSound(storage, one))) break;
    found.push(await recordOfFile(storage, location, one));
  }
  return found;
}

async function isSound(
  storage: Storage,
  { version, manifest: path }: LanceVersion,
): Promise<boolean> {
  try {
    return (await readManifestFile(storage, path)).manifest.version === version;
  } catch (error) {
    if (error instanceof LanceManifestError) return false;
    throw error;
  }
}
