import { removeStaged, stagedFiles } from '../../versions/managed/staged-collection.ts';
import type { TableRecord } from '../../format/records.ts';
import type { Outlook } from '../../versions/leases/horizon.ts';
import type { IsOld, Orphan } from './orphans.ts';
import type { RetentionParts } from './parts.ts';
import { NOTHING, plus, type Freed, type Storage } from '../../../storage/storage.ts';
import { spareNamed, type RemovalCandidates } from '../../catalog/records/version-walk.ts';

/**
 * The manifests in a Lance table's folder that were staged long ago and are no version:
 * those of writers that lost or died. One that a crash kept from its final name is
 * named by its version. A file that a client wrote long ago may be part of a commit
 * in progress, which then gave it one more name: so it counts too when that was.
 * @param isOld Whether a client wrote a file long enough ago.
 */
export async function stagedOrphansOf(
  parts: RetentionParts,
  { id, location }: TableRecord,
  isOld: IsOld,
  outlook: Outlook,
): Promise<readonly Orphan[]> {
  if (location === null) return [];
  const bytes = new Map<string, number>();
  for await (const staged of stagedFiles(parts.storage, location)) {
    if (!isOld(staged.writtenMillis) || !outlook.isLeft(staged.changedMillis)) continue;
    bytes.set(staged.file, staged.bytes);
  }
  const candidates: RemovalCandidates = { manifests: new Set(bytes.keys()), files: new Set() };
  await spareNamed(parts, id, location, candidates);
  return [...candidates.manifests].map((file) => ({ file, bytes: bytes.get(file) ?? 0 }));
}

/** Removes such manifests. */
export async function removeStagedOrphans(
  storage: Storage,
  { location }: TableRecord,
  orphans: readonly Orphan[],
): Promise<Freed> {
  let freed = NOTHING;
  if (location === null) return freed;
  for (const { file, bytes } of orphans) {
    if (await removeStaged(storage, location, file)) freed = plus(freed, { files: 1, bytes });
  }
  return freed;
}
