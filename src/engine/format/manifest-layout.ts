import type { Fragment, FragmentList } from './snapshot.ts';

/** Consecutive fragments of a version that lie one after the other in a file. */
export interface FragmentRange {
  /** The file: 0 for the manifest itself, n for its nth list. */
  readonly file: number;
  readonly start: number;
  readonly count: number;
}

/** Where the fragments of a version are stored. */
export interface ManifestLayout {
  readonly lists: readonly FragmentList[];
  /** Fragments that the manifest itself holds. */
  readonly own: readonly Fragment[];
  /** All fragments, in the order of the table. */
  readonly ranges: readonly FragmentRange[];
}

/** Most lists of a manifest: a version is read from at most one file more. */
const MOST_LISTS = 6;
/** Most ranges of a manifest; one of more is written with a list of all fragments. */
const MOST_RANGES = 64;
/** A list is written anew with the fragments after it, unless it has this many times as many. */
const RATIO = 4;

/** A manifest of more bytes has no fragment that just changed outside of lists. */
const MOST_BYTES = 2 ** 16;

/** Fragments that some manifest holds. */
const held = new WeakSet<Fragment>();

/** Remembers fragments that a manifest holds: a version that still has them may put them in a list. */
export function noteHeld(fragments: readonly Fragment[]): void {
  for (const fragment of fragments) held.add(fragment);
}

/**
 * Fragments whose rows were deleted by this version. They stay in its manifest, since the next version may
 * well delete more of them: each of these would write a list that no other version uses.
 */
export function freshFragments(
  { own, ranges }: ManifestLayout,
  bytes: number,
): ReadonlySet<Fragment> {
  if (ranges.length > MOST_RANGES || bytes > MOST_BYTES) return new Set();
  return new Set(own.filter((each) => each.deletions !== null && !held.has(each)));
}

/** Positions of fragments by the list that holds them. */
const positions = new WeakMap<FragmentList, ReadonlyMap<Fragment, number>>();

/**
 * Finds fragments in the lists of the version that they were made from. A list of which the version
 * needs less than half is not used.
 */
export function manifestLayout(
  fragments: readonly Fragment[],
  lists: readonly FragmentList[],
): ManifestLayout {
  const found = located(fragments, lists);
  const counts = lists.map((_, index) => countOf(found, index + 1));
  const used = lists.filter(
    (list, at) => counts[at]! > 0 && counts[at]! * 2 >= list.fragments.length,
  );
  return used.length === lists.length ? found : manifestLayout(fragments, used);
}

/** Whether a version needs a new list, by the size of its manifest without one and without fresh fragments. */
export function needsList(
  { own, ranges }: ManifestLayout,
  fresh: ReadonlySet<Fragment>,
  isLarge: boolean,
): boolean {
  return ranges.length > MOST_RANGES || (isLarge && own.length > fresh.size);
}

/**
 * The fragments of a new list: those of the manifest itself that are not fresh, and of lists that are not much
 * longer. So a fragment is written a few times for each four-fold growth of the table.
 * @returns The other lists, and the fragments in the order of the table.
 */
export function regrouped(
  { lists, own, ranges }: ManifestLayout,
  fragments: readonly Fragment[],
  fresh: ReadonlySet<Fragment>,
): { readonly kept: readonly FragmentList[]; readonly gathered: readonly Fragment[] } {
  const counts = new Map(lists.map((list, at) => [list, countOf({ ranges }, at + 1)]));
  const kept = lists.toSorted((left, right) => counts.get(right)! - counts.get(left)!);
  let count = own.length - fresh.size;
  for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
    const isLonger = counts.get(last)! >= RATIO * count;
    if (isLonger && kept.length < MOST_LISTS && ranges.length <= MOST_RANGES) break;
    count += counts.get(last)!;
    kept.pop();
  }
  const others = new Set(manifestLayout(fragments, kept).own);
  const isGathered = (one: Fragment): boolean => others.has(one) && !fresh.has(one);
  return { kept, gathered: fragments.filter(isGathered) };
}

/**
 * The fragments of a version.
 * @throws Error when a range lies outside of its file.
 */
export function fragmentsOf({ lists, own, ranges }: ManifestLayout): readonly Fragment[] {
  const files = [own, ...lists.map((list) => list.fragments)];
  return ranges.flatMap(({ file, start, count }) => {
    const found = files[file]?.slice(start, start + count) ?? [];
    if (found.length === count) return found;
    throw new Error(`the manifest needs fragments up to ${start + count} of file ${file}`);
  });
}

function located(fragments: readonly Fragment[], lists: readonly FragmentList[]): ManifestLayout {
  const own: Fragment[] = [];
  const ranges: { file: number; start: number; count: number }[] = [];
  let last: (typeof ranges)[number] | undefined;
  for (const fragment of fragments) {
    const next = last === undefined ? 0 : last.start + last.count;
    let [file, start] = [last?.file ?? 0, next];
    const isNext = file > 0 && lists[file - 1]?.fragments[next] === fragment;
    if (!isNext) [file, start] = placeOf(fragment, lists) ?? [0, own.length];
    if (file === 0) own.push(fragment);
    if (last !== undefined && last.file === file && next === start) last.count += 1;
    else ranges.push((last = { file, start, count: 1 }));
  }
  return { lists, own, ranges };
}

function placeOf(
  fragment: Fragment,
  lists: readonly FragmentList[],
): readonly [file: number, start: number] | undefined {
  for (const [at, list] of lists.entries()) {
    const known = positions.get(list) ?? positionsIn(list);
    positions.set(list, known);
    const start = known.get(fragment);
    if (start !== undefined) return [at + 1, start];
  }
  return undefined;
}

function positionsIn({ fragments }: FragmentList): ReadonlyMap<Fragment, number> {
  return new Map(fragments.map((fragment, at) => [fragment, at]));
}

function countOf({ ranges }: Pick<ManifestLayout, 'ranges'>, file: number): number {
  return ranges.reduce((sum, range) => sum + (range.file === file ? range.count : 0), 0);
}
