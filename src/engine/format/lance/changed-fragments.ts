import type { LanceDataFile, LanceFragment } from './lance-manifest.ts';

type Fragments = readonly LanceFragment[];

/**
 * The fragments of two manifests without those that stand at their beginning and at their end in both. A change
 * leaves most fragments as they are, in their order, so what is left is short however many there are.
 */
export function changedFragments(
  before: Fragments,
  after: Fragments,
): { readonly before: Fragments; readonly after: Fragments } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && isSame(before[start]!, after[start]!)) start++;
  let end = 0;
  while (end < most - start && isSame(before.at(-1 - end)!, after.at(-1 - end)!)) end++;
  return {
    before: before.slice(start, before.length - end),
    after: after.slice(start, after.length - end),
  };
}

function isSame(one: LanceFragment, other: LanceFragment): boolean {
  return (
    one.id === other.id &&
    one.physicalRows === other.physicalRows &&
    one.files.length === other.files.length &&
    one.files.every((file, at) => isSameFile(file, other.files[at]!)) &&
    one.deletions?.name === other.deletions?.name &&
    one.deletions?.base === other.deletions?.base &&
    one.deletions?.rows === other.deletions?.rows
  );
}

function isSameFile(one: LanceDataFile, other: LanceDataFile): boolean {
  return one.path === other.path && one.base === other.base;
}
