import { relative } from 'node:path';
import type { TableRecord } from '../catalog/records.ts';
import {
  adoptsExternalWrites,
  externalVersions,
  refusedVersion,
} from '../managed/external-versions.ts';
import type { RetentionParts } from '../retention/parts.ts';
import { Branches } from '../table/branches.ts';
import { MAIN_CHAIN, type Chain } from '../table/chain.ts';
import { VersionStore } from '../table/version-store.ts';
import type { FileFault } from './file-check.ts';

/**
 * The manifests in a Lance table's folder that were written without the catalog and that no
 * request adopts: those of refused versions, and those of a line whose versions the catalog
 * alone commits.
 */
export async function externalFaults(
  { store, committer }: Pick<RetentionParts, 'store' | 'committer'>,
  table: TableRecord,
): Promise<readonly FileFault[]> {
  const { location } = table;
  if (table.kind === 'engine' || location === null) return [];
  const versions = new VersionStore(store);
  const faults: FileFault[] = [];
  const headOf = async (chain: Chain) =>
    (await versions.head(table.id, chain))?.content.version ?? 0n;
  for (const chain of [MAIN_CHAIN, ...(await new Branches(store, committer).chains(table.id))]) {
    const found = await externalVersions(location, chain.branch, await headOf(chain));
    if (found.length === 0) continue;
    const refused = await refusedVersion(store, table.id, chain.key);
    if (refused === undefined && isAdopted(table)) continue;
    // A commit names its manifest after the store has its version.
    const head = await headOf(chain);
    for (const { version, manifest } of found) {
      if (version <= head || (await versions.at(table.id, version, chain)) !== undefined) continue;
      const why = version === refused?.version ? ` (${refused.reason})` : '';
      const fault = `is version ${version}, which was written without the catalog and is not adopted${why}`;
      faults.push({ file: relative(location, manifest), fault });
    }
  }
  return faults;
}

/** Whether the next request adopts what is found. */
function isAdopted(table: TableRecord): boolean {
  return table.kind === 'declared' || adoptsExternalWrites(table);
}
