import type { Check } from '../../../store/store.ts';
import type { Branches, NamedBranch } from './branches.ts';
import { MAIN, ownerOf, type Ancestor, type Chain } from '../../format/chain.ts';
import type { NamedTag, Tags } from './tags.ts';

/** Versions that must stay, and the checks that the same is still so. */
export interface KeptVersions {
  readonly versions: ReadonlySet<bigint>;
  readonly checks: readonly Check[];
}

/** The line on which a version was made. */
type Place = Pick<Ancestor, 'key' | 'version'>;

/** The versions made on a line that a tag names or a branch begins with. */
export async function keptVersions(
  tags: Tags,
  branches: Branches,
  tableId: string,
  { key }: Chain,
): Promise<KeptVersions> {
  const allTags = await tags.records(tableId);
  const allBranches = await branches.all(tableId);
  const byName = new Map(allBranches.branches.map((named) => [named.name, named]));
  const places = [
    ...allTags.tags.flatMap((tag) => taggedPlace(tag, byName)),
    ...allBranches.branches.map(originPlace),
  ];
  return {
    versions: new Set(places.filter((place) => place.key === key).map(({ version }) => version)),
    checks: [...allTags.checks, ...allBranches.checks],
  };
}

function taggedPlace(
  { tag }: NamedTag,
  branches: ReadonlyMap<string, NamedBranch>,
): readonly Place[] {
  const { version } = tag;
  if (tag.branch === null) return [{ key: MAIN, version }];
  const branch = branches.get(tag.branch)?.branch;
  if (branch === undefined) return [];
  return [{ key: ownerOf({ key: branch.id, lineage: branch.lineage }, version), version }];
}

/** A branch may begin with a version that its parent did not make either. */
function originPlace({ branch }: NamedBranch): Place {
  const { version } = branch.lineage[0]!;
  return { key: ownerOf({ key: branch.id, lineage: branch.lineage }, version), version };
}
