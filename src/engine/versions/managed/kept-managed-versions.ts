import type { Storage } from '../../../storage/storage.ts';
import type { TableRecord } from '../../format/records.ts';
import type { Branches, NamedBranch } from '../lines/branches.ts';
import { MAIN, type Chain } from '../../format/chain.ts';
import type { KeptVersions } from '../lines/kept-versions.ts';
import type { Tags } from '../lines/tags.ts';
import { branchRefs, tagRefs } from './lance-refs.ts';
import { locationOf } from './managed-versions.ts';

/** A version by the name of its branch. */
interface Place {
  readonly branch: string;
  readonly version: bigint;
}

/**
 * The versions of a line of a Lance table that a tag names or a branch begins with,
 * as the catalog knows them and as Lance clients wrote them down themselves.
 */
export async function keptManagedVersions(
  storage: Storage,
  tags: Tags,
  branches: Branches,
  table: TableRecord,
  { branch }: Chain,
): Promise<KeptVersions> {
  const location = locationOf(table);
  const allTags = await tags.records(table.id);
  const allBranches = await branches.all(table.id);
  const refs = await branchRefs(storage, location);
  const places: readonly Place[] = [
    ...allTags.tags.map(({ tag }) => ({ branch: tag.branch ?? MAIN, version: tag.version })),
    ...allBranches.branches.map(originOf),
    ...(await tagRefs(storage, location)).map(({ tag }) => ({
      branch: tag.branch ?? MAIN,
      version: tag.version,
    })),
    ...[...refs.values()].map((ref) => ({ branch: ref.parentBranch, version: ref.parentVersion })),
  ];
  return {
    versions: new Set(places.filter((place) => place.branch === branch).map((one) => one.version)),
    checks: [...allTags.checks, ...allBranches.checks],
  };
}

function originOf({ branch }: NamedBranch): Place {
  const { branch: name, version } = branch.lineage[0]!;
  return { branch: name, version };
}
