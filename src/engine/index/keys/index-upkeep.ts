import type { Contents } from '../../format/change.ts';
import {
  fragmentKey,
  type Fragment,
  type FragmentIndex,
  type IndexDefinition,
} from '../../format/snapshot.ts';

/**
 * A version with those of its indices whose columns it still has. A column whose
 * values were rewritten keeps its index by its name, which then covers nothing.
 * @param before The version that it was made of.
 */
export function withLiveIndices(contents: Contents, before: Contents): Contents {
  const { indices = [], fragments } = contents;
  if (indices.length === 0 && fragments.every((each) => each.indices === undefined)) {
    return contents;
  }
  const kept = indices.flatMap((index) => stillThere(index, contents, before));
  const columns = new Map(kept.map(({ uuid, field }) => [uuid, field]));
  return {
    ...contents,
    indices: kept,
    fragments: fragments.map((fragment) => withLiveFiles(fragment, columns)),
  };
}

function stillThere(
  index: IndexDefinition,
  contents: Contents,
  before: Contents,
): readonly IndexDefinition[] {
  if (contents.fieldIds.includes(index.field)) return [index];
  const name = before.schema.fields[before.fieldIds.indexOf(index.field)]?.name;
  const at = contents.schema.fields.findIndex((field) => field.name === name);
  const old = before.schema.fields[before.fieldIds.indexOf(index.field)];
  const same = at >= 0 && String(contents.schema.fields[at]!.type) === String(old?.type);
  return same ? [{ ...index, field: contents.fieldIds[at]! }] : [];
}

function withLiveFiles(fragment: Fragment, columns: ReadonlyMap<string, number>): Fragment {
  const { indices } = fragment;
  if (indices === undefined) return fragment;
  const isLive = ({ index, field }: FragmentIndex) => columns.get(index) === field;
  return indices.every(isLive) ? fragment : { ...fragment, indices: indices.filter(isLive) };
}

/** What an index knows of a fragment; undefined where it does not cover it. */
export function indexFileOf(
  { indices = [] }: Fragment,
  { uuid, field }: IndexDefinition,
): FragmentIndex | undefined {
  return indices.find((known) => known.index === uuid && known.field === field);
}

/** What names the values of a column in a fragment for good: the fragment, and the file that holds the column. */
export function columnKey(fragment: Fragment, field: number): string {
  const file = fragment.files.find(({ fields }) => fields.includes(field));
  return `${fragmentKey(fragment)}|${file?.path ?? ''}`;
}

/** A version in which an index covers some more fragments, as far as they are still there. */
export function withIndexFiles(
  contents: Contents,
  index: IndexDefinition,
  files: ReadonlyMap<string, FragmentIndex>,
): Contents {
  const fragments = contents.fragments.map((fragment) => {
    const file = files.get(columnKey(fragment, index.field));
    if (file === undefined || indexFileOf(fragment, index) !== undefined) return fragment;
    return { ...fragment, indices: [...(fragment.indices ?? []), file] };
  });
  return { ...contents, fragments };
}

/** A version with a further index, in the place of another of its name. */
export function withIndex(
  contents: Contents,
  index: IndexDefinition,
  files: ReadonlyMap<string, FragmentIndex>,
): Contents {
  const others = (contents.indices ?? []).filter(({ name }) => name !== index.name);
  return { ...withIndexFiles(contents, index, files), indices: [...others, index] };
}

/** A version without an index. */
export function withoutIndex(contents: Contents, name: string): Contents {
  return { ...contents, indices: (contents.indices ?? []).filter((one) => one.name !== name) };
}

/** The fragments that an index does not cover. */
export function uncovered(
  { fragments }: Pick<Contents, 'fragments'>,
  index: IndexDefinition,
): readonly Fragment[] {
  return fragments.filter((fragment) => indexFileOf(fragment, index) === undefined);
}
