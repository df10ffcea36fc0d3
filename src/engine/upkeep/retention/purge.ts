import { dirname, join } from 'node:path';
import type { Check, Write } from '../../../store/store.ts';
import { prefixesOf, prefixRange, purgedKey } from '../../catalog/records/keys.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { DroppedRecord, Stored, TableRecord } from '../../format/records.ts';
import { isInside, locationKey } from '../../versions/lines/locations.ts';
import type { RetentionParts } from './parts.ts';
import { encodePurge, type PurgeRecord } from './entries.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { DETACHED_SEALS } from '../../format/layout.ts';
import { NOTHING, plus, type Freed } from '../../../storage/storage.ts';

/** How many keys go in one commit. */
const AT_ONCE = 500;

/** The folders that this engine makes in the folder of a table. */
const OWN_FOLDERS = ['data', 'deletions', 'versions', 'tree', 'indices', 'fragments'];

/**
 * Removes a dropped table for good. First its record gives way to one that says
 * so, and from then on it cannot be brought back; then its files go, then the
 * records of its versions and tags, and last that record and the hold on its
 * location, together. Whatever is cut off is gone on with by the next collection.
 * @returns Undefined when the table was brought back, or others are at it.
 */
export async function purgeDropped(
  parts: RetentionParts,
  dropped: Stored<DroppedRecord>,
): Promise<Freed | undefined> {
  const record: PurgeRecord = { owner: parts.process, dropped: dropped.content };
  return purge(parts, record, [{ key: dropped.key, value: null }], [unchanged(dropped)]);
}

/** Goes on with a removal that a process has left unfinished. */
export async function resumePurge(
  parts: RetentionParts,
  begun: Stored<PurgeRecord>,
): Promise<Freed | undefined> {
  if (await parts.isAlive(begun.content.owner)) {
    // Its own are those that failed before.
    if (begun.content.owner !== parts.process) return undefined;
  }
  const record = { ...begun.content, owner: parts.process };
  return purge(parts, record, [], [unchanged(begun)]);
}

async function purge(
  parts: RetentionParts,
  record: PurgeRecord,
  writes: readonly Write[],
  checks: readonly Check[],
): Promise<Freed | undefined> {
  const table = record.dropped.record;
  const claim = { key: purgedKey(table.id), value: encodePurge(record) };
  const claimed = await parts.committer.commit(checks, [...writes, claim]);
  // Also when it is not known: the next collection finds what became of it.
  if (claimed.kind !== 'committed') return undefined;
  const freed = await removeTableFiles(parts, table, false);
  for (const prefix of prefixesOf(table.id)) await removeKeys(parts, unchanged(claim), prefix);
  await removeLast(parts, claim, table);
  if (freed.files > 0) await parts.removed();
  return freed;
}

/** Removes the files of a table that nothing can reach any more, or says what that would free. */
export async function removeTableFiles(
  parts: RetentionParts,
  table: TableRecord,
  dryRun: boolean,
): Promise<Freed> {
  const { storage } = parts;
  const folder = parts.folder(table);
  if (table.location === null) return removeWhole(parts, folder, dryRun);
  if (table.kind !== 'engine') {
    // Files elsewhere existed before the table was registered.
    return (await isManaged(parts, folder)) ? removeWhole(parts, folder, dryRun) : NOTHING;
  }
  let freed = NOTHING;
  for (const inner of OWN_FOLDERS) {
    freed = plus(
      freed,
      await storage.removeTree(join(folder, inner), { dryRun, retained: parts.retained }),
    );
  }
  freed = plus(freed, await storage.remove(join(folder, DETACHED_SEALS), dryRun));
  // A folder that others have put something into stays.
  if (!dryRun) await storage.folders?.removeIfEmpty(folder);
  if (!dryRun) await unlessMissing(storage.flush(dirname(folder)));
  return freed;
}

async function removeWhole(
  { storage, retained }: RetentionParts,
  folder: string,
  dryRun: boolean,
): Promise<Freed> {
  const freed = await storage.removeTree(folder, { dryRun, retained });
  if (!dryRun) await unlessMissing(storage.flush(dirname(folder)));
  return freed;
}

async function isManaged({ storage, managed }: RetentionParts, folder: string): Promise<boolean> {
  const root = await unlessMissing(storage.resolve(managed));
  return root !== undefined && isInside(folder, root);
}

async function removeKeys(parts: RetentionParts, check: Check, prefix: string): Promise<void> {
  for (;;) {
    const entries = await parts.store.range({ ...prefixRange(prefix), limit: AT_ONCE });
    if (entries.length === 0) return;
    const writes = entries.map(({ key }) => ({ key, value: null }));
    await requireCommit(parts, [check], writes);
  }
}

async function removeLast(
  parts: RetentionParts,
  claim: { readonly key: string; readonly value: Uint8Array },
  { id, location }: TableRecord,
): Promise<void> {
  const checks: Check[] = [unchanged(claim)];
  const writes: Write[] = [{ key: claim.key, value: null }];
  const hold = location === null ? undefined : locationKey(location);
  const holder = hold === undefined ? undefined : await parts.store.get(hold);
  if (hold !== undefined && holder !== undefined && Buffer.from(holder).toString() === id) {
    checks.push({ kind: 'value', key: hold, value: holder });
    writes.push({ key: hold, value: null });
  }
  await requireCommit(parts, checks, writes);
}

async function requireCommit(
  { committer }: RetentionParts,
  checks: readonly Check[],
  writes: readonly Write[],
): Promise<void> {
  const result = await committer.commit(checks, writes);
  if (result.kind !== 'committed') throw new Error('another process has taken the removal over');
}
