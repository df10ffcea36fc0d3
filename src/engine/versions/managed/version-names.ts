import type { Storage } from '../../../storage/storage.ts';
import { nameManifest, removeOtherNames } from './managed-manifests.ts';
import { locationOf } from './managed-versions.ts';
import { pathIn } from './place.ts';
import type { PlannedVersion } from './version-creation.ts';

/**
 * Gives the manifests of versions that the store has their final names, durably. They
 * keep those that they had, which say that the journal may lack their versions.
 * @throws Error for one that is gone.
 */
export async function nameVersions(
  storage: Storage,
  planned: readonly PlannedVersion[],
): Promise<void> {
  for (const { table, record } of planned) {
    const location = locationOf(table);
    if (await nameManifest(storage, location, record)) continue;
    throw new Error(`the manifest of version ${record.version} is gone from ${location}`);
  }
}

/**
 * Takes the other names from manifests that have their final ones, once the journal has their versions.
 * @param held Loses the paths of the names that are gone then.
 */
export async function finishNames(
  storage: Storage,
  planned: readonly PlannedVersion[],
  held?: Set<string>,
): Promise<void> {
  for (const { table, record, staging } of planned) {
    const location = locationOf(table);
    await removeOtherNames(storage, location, record);
    held?.delete(pathIn(location, record.staging));
    // A retry may have staged the same bytes again.
    if (staging !== record.claimed) await storage.discard(pathIn(location, staging));
  }
}

/** Both, of versions that the journal has. */
export async function settleVersions(
  storage: Storage,
  planned: readonly PlannedVersion[],
): Promise<void> {
  await nameVersions(storage, planned);
  await finishNames(storage, planned);
}
