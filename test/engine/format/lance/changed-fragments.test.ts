import { describe, expect, it } from 'vitest';
import { changedFragments } from '../../../../src/engine/format/lance/changed-fragments.ts';
import type { LanceFragment } from '../../../../src/engine/format/lance/lance-manifest.ts';

function fragment(id: number, more: Partial<LanceFragment> = {}): LanceFragment {
  const file = { path: `${id}.lance`, fields: [0], columns: 1, major: 2, minor: 0, bytes: 10n };
  const parts = { files: [file], physicalRows: 10n, deletions: null, hasRowIds: false };
  return { id: BigInt(id), ...parts, ...more };
}

function fragments(...ids: readonly number[]): readonly LanceFragment[] {
  return ids.map((id) => fragment(id));
}

/** Ids of what is left of two lists. */
function changed(
  before: readonly LanceFragment[],
  after: readonly LanceFragment[],
): readonly (readonly number[])[] {
  const left = changedFragments(before, after);
  return [left.before, left.after].map((some) => some.map(({ id }) => Number(id)));
}

describe('the changed fragments of two manifests', () => {
  it.each([
    ['none', fragments(1, 2, 3), fragments(1, 2, 3), [[], []]],
    ['those that were added', fragments(1, 2), fragments(1, 2, 3, 4), [[], [3, 4]]],
    ['those that went', fragments(1, 2, 3), fragments(1, 3), [[2], []]],
    ['all of a first version', [], fragments(1, 2), [[], [1, 2]]],
    ['all of an overwrite', fragments(1, 2), fragments(3), [[1, 2], [3]]],
    ['those between others that stay', fragments(1, 2, 3, 4), fragments(1, 5, 4), [[2, 3], [5]]],
    ['one that is there more often', fragments(1, 1), fragments(1, 1, 1), [[], [1]]],
    [
      'those in another order',
      fragments(1, 2, 3),
      fragments(1, 3, 2),
      [
        [2, 3],
        [3, 2],
      ],
    ],
  ])('are %s', (_, before, after, expected) => {
    expect(changed(before, after)).toEqual(expected);
  });

  const [file] = fragment(2).files;
  const deletions = { name: 'a.arrow', rows: 1n };
  it.each([
    ['deleted rows', fragment(2), fragment(2, { deletions })],
    [
      'other deleted rows',
      fragment(2, { deletions }),
      fragment(2, { deletions: { ...deletions, name: 'b.arrow' } }),
    ],
    [
      'deleted rows of another base',
      fragment(2, { deletions }),
      fragment(2, { deletions: { ...deletions, base: 1 } }),
    ],
    ['another number of rows', fragment(2), fragment(2, { physicalRows: 11n })],
    ['another file', fragment(2), fragment(2, { files: [{ ...file!, path: 'other.lance' }] })],
    ['a file of another base', fragment(2), fragment(2, { files: [{ ...file!, base: 1 }] })],
    [
      'one more file',
      fragment(2),
      fragment(2, { files: [file!, { ...file!, path: 'more.lance' }] }),
    ],
  ])('are those with %s', (_, old, now) => {
    const around = (one: LanceFragment) => [fragment(1), one, fragment(3)];
    expect(changed(around(old), around(now))).toEqual([[2], [2]]);
  });
});
