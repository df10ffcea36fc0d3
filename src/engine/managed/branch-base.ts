import type { TableRecord, VersionRecord } from '../catalog/records.ts';
import type { LanceManifest } from '../lance/lance-manifest.ts';
import { lanceTransaction } from '../lance/lance-transaction.ts';
import type { Branches } from '../table/branches.ts';
import { MAIN } from '../table/chain.ts';
import type { VersionStore } from '../table/version-store.ts';
import type { ManagedLine } from './managed-line.ts';

/** The first version of a branch, as its client has staged it. */
export interface FirstVersion {
  readonly version: bigint;
  readonly manifest: LanceManifest;
  /** Absolute path of the file with the manifest. */
  readonly file: string;
}

interface Reads {
  readonly versions: Pick<VersionStore, 'head' | 'list'>;
  readonly branches: Pick<Branches, 'find'>;
}

/**
 * What the first version of a branch is compared with: what its client says that it is a
 * copy of, or the newest before that which the catalog knows. Whatever it says, that is a version
 * which got in already.
 * @param origin What is written down of the branch.
 */
export async function branchBase(
  { versions, branches }: Reads,
  { id }: TableRecord,
  origin: NonNullable<ManagedLine['origin']>,
  { version, manifest, file }: FirstVersion,
): Promise<VersionRecord | undefined> {
  const { origin: said } = await lanceTransaction(file, manifest);
  const above = said?.branch ? (await branches.find(id, said.branch))?.content.id : undefined;
  const parent = above ?? (said === undefined ? origin.key : MAIN);
  const from = said?.version ?? origin.version ?? version;
  const page = { limit: 1, descending: true, after: from + 1n };
  for (const key of new Set([parent, MAIN])) {
    const chain = { branch: MAIN, key, lineage: [], checks: [] };
    const [base] = await versions.list(id, page, chain);
    if (base !== undefined) return base;
  }
  return (await versions.head(id))?.content;
}
