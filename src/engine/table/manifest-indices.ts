import { ownPath } from './layout.ts';
import type { Fragment, FragmentIndex, IndexDefinition, Snapshot } from './snapshot.ts';

/** The indices of a version as its manifest says them. */
interface ManifestIndices {
  readonly definitions: readonly IndexDefinition[];
  /** For fragments by their position: the files that indices have of them. */
  readonly files: readonly (readonly [number, readonly FragmentIndex[]])[];
}

/** The indices of a version as JSON; undefined when it has none. */
export function textOfIndices({
  indices = [],
  fragments,
}: Pick<Snapshot, 'indices' | 'fragments'>): string | undefined {
  if (indices.length === 0) return undefined;
  const files = fragments.flatMap(({ indices: known = [] }, position) =>
    known.length === 0 ? [] : [[position, known] as const],
  );
  const said: ManifestIndices = { definitions: indices, files };
  return JSON.stringify(said);
}

/** The inverse of `textOfIndices`. */
export function indicesOfText(text: string | undefined): ManifestIndices | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as ManifestIndices);
}

/** Fragments with the files that indices have of them. */
export function withIndexFiles(
  fragments: readonly Fragment[],
  indices: ManifestIndices | undefined,
): readonly Fragment[] {
  if (indices === undefined) return fragments;
  const files = new Map(indices.files);
  return fragments.map((fragment, position) => {
    const known = files.get(position);
    for (const { path } of known ?? []) ownPath(path);
    return known === undefined ? fragment : { ...fragment, indices: known };
  });
}
