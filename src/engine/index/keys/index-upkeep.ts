import type { Contents } from '../../format/change.ts';
import {
  fragmentKey,
  type Fragment,
  type FragmentIndex,
  type IndexDefinition,
} from '../../format/snapshot.ts';
import { tableColumns } from '../../format/table-columns.ts';

/**
 * Removes indices whose columns are gone. An index whose column was rewritten stays and covers
 * nothing.
 * @param before The version it was made from.
 */
export function withLiveIndices(contents: Contents, before: Contents): Contents {
  const { indices = [], fragments } = contents;
  if (indices.length === 0 && fragments.every((each) => each.indices === undefined)) {
    return contents;
  }
  const retained = indices.flatMap((index) => stillThere(index, contents, before));
  const columns = new Map(retained.map(({ uuid, field }) => [uuid, field]));
  return {
    ...contents,
    indices: retained,
    fragments: fragments.map((fragment) => withLiveFiles(fragment, columns)),
  };
}

function stillThere(
  index: IndexDefinition,
  contents: Contents,
  before: Contents,
): readonly IndexDefinition[] {
  if (contents.fieldIds.includes(index.field)) return [index];
  const old = before.schema.fields[before.fieldIds.indexOf(index.field)];
  const now = tableColumns(contents).find(({ field }) => field.name === old?.name);
  const same = now !== undefined && String(now.field.type) === String(old?.type);
  return same ? [{ ...index, field: now.id }] : [];
}

function withLiveFiles(fragment: Fragment, columns: ReadonlyMap<string, number>): Fragment {
  const { indices } = fragment;
  if (indices === undefined) return fragment;
  const isLive = ({ index, field }: FragmentIndex) => columns.get(index) === field;
  return indices.every(isLive) ? fragment : { ...fragment, indices: indices.filter(isLive) };
}

/** The file of an index for a fragment; undefined if the index does not cover it. */
export function indexFileOf(
  { indices = [] }: Fragment,
  { uuid, field }: IndexDefinition,
): FragmentIndex | undefined {
  return indices.find((each) => each.index === uuid && each.field === field);
}

/**
 * Permanent key of a column's values in a fragment: the fragment and the file that holds the
 * column.
 */
export function columnKey(fragment: Fragment, field: number): string {
  const file = fragment.files.find(({ fields }) => fields.includes(field));
  return `${fragmentKey(fragment)}|${file?.path ?? ''}`;
}

/** Adds files of an index to the fragments that still exist. */
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

/** Adds an index; it replaces one of the same name. */
export function withIndex(
  contents: Contents,
  index: IndexDefinition,
  files: ReadonlyMap<string, FragmentIndex>,
): Contents {
  const others = (contents.indices ?? []).filter(({ name }) => name !== index.name);
  return { ...withIndexFiles(contents, index, files), indices: [...others, index] };
}

/** Removes an index. */
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
