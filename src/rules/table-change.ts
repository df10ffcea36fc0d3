import type { ColumnFacts, FragmentFacts, TableState, VersionChange } from './commit-facts.ts';

export interface CountedRows {
  readonly added: bigint;
  readonly removed: bigint;
  readonly changed: bigint;
}

/** Relation between new and removed rows, if they were not counted. */
export type Moves =
  /** New rows are additions, removed rows are removals. */
  | 'apart'
  /** New rows replace removed rows, with other values. */
  | 'updated'
  /** The same, with the same values. */
  | 'kept';

/** Compares two versions of a table by their manifests. */
export function versionChange(
  before: TableState | null,
  after: TableState,
  rows: CountedRows | Moves,
): VersionChange {
  const flow = flowOf(before, after);
  const counted = typeof rows === 'string' ? countOf(flow, rows) : rows;
  const rewritten = before === null ? 0n : rowsRewritten(before, after);
  return {
    before,
    after,
    rowsBefore: before === null ? 0n : rowCountOf(before),
    rowsAdded: counted.added,
    rowsRemoved: counted.removed,
    rowsChanged: counted.changed > rewritten ? counted.changed : rewritten,
    bytesAdded: rows === 'kept' ? 0n : bytesAdded(before, after),
  };
}

/** Rows of a version that are not deleted. */
export function rowCountOf({ fragments }: TableState): bigint {
  return fragments.reduce((sum, { rows }) => sum + rows, 0n);
}

/** Rows that some fragment gained, and rows that one lost. */
interface Flow {
  readonly came: bigint;
  readonly went: bigint;
}

function flowOf(before: TableState | null, after: TableState): Flow {
  const old = before?.fragments ?? [];
  return { came: rowsMissing(after.fragments, old), went: rowsMissing(old, after.fragments) };
}

function countOf({ came, went }: Flow, moves: Moves): CountedRows {
  if (moves === 'apart') return { added: came, removed: went, changed: 0n };
  const moved = came < went ? came : went;
  const changed = moves === 'updated' ? moved : 0n;
  return { added: came - moved, removed: went - moved, changed };
}

/** How many rows of some fragments others do not have. */
function rowsMissing(some: readonly FragmentFacts[], others: readonly FragmentFacts[]): bigint {
  const rowsByKey = new Map(others.map(({ key, rows }) => [key, rows]));
  return some.reduce((sum, { key, rows }) => {
    const missing = rows - (rowsByKey.get(key) ?? 0n);
    return missing > 0n ? sum + missing : sum;
  }, 0n);
}

/** Rows of fragments that stay, of which a column that was there lies elsewhere, or nowhere any more. */
function rowsRewritten(before: TableState, after: TableState): bigint {
  const old = new Map(before.fragments.map((fragment) => [fragment.key, fragment]));
  const retained = new Set(after.columns.flatMap(({ ids }) => ids));
  const ids = before.columns.flatMap((column) => column.ids);
  return after.fragments.reduce((sum, fragment) => {
    const previous = old.get(fragment.key);
    if (previous === undefined) return sum;
    const same = ids.every(
      (id) => retained.has(id) && fileOf(previous, id) === fileOf(fragment, id),
    );
    return same ? sum : sum + fragment.rows;
  }, 0n);
}

function fileOf({ files }: FragmentFacts, id: number): string | undefined {
  return files.find(({ ids }) => ids.includes(id))?.path;
}

function bytesAdded(before: TableState | null, after: TableState): bigint {
  const paths = new Set(before?.fragments.flatMap(({ files }) => files.map(({ path }) => path)));
  return after.fragments
    .flatMap(({ files }) => files)
    .filter(({ path }) => !paths.has(path))
    .reduce((sum, { bytes }) => sum + bytes, 0n);
}

/** Whether two versions have the same columns; their metadata does not matter. */
export function sameColumns(one: readonly ColumnFacts[], other: readonly ColumnFacts[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ name, exact, nullable }, at) => {
      const beside = other[at];
      return name === beside?.name && exact === beside.exact && nullable === beside.nullable;
    })
  );
}

/**
 * The fragments of a version with rows that are new or have other values in some
 * columns: what is judged row by row.
 */
export function touchedFragments(
  { before, after }: Pick<VersionChange, 'before' | 'after'>,
  names: readonly string[],
): ReadonlySet<string> {
  const old = new Map(before?.fragments.map((fragment) => [fragment.key, fragment]));
  const pairs = names.map((name) => [columnOf(before, name), columnOf(after, name)] as const);
  const touched = after.fragments.filter((fragment) => {
    const previous = old.get(fragment.key);
    if (previous === undefined || comesBack(previous, fragment)) return true;
    return !pairs.every(([one, other]) => liesAlike(previous, one, fragment, other));
  });
  return new Set(touched.map(({ key }) => key));
}

/** Whether rows that were deleted are there again. */
function comesBack(before: FragmentFacts, after: FragmentFacts): boolean {
  return after.rows > before.rows;
}

function columnOf(state: TableState | null, name: string): ColumnFacts | undefined {
  return state?.columns.find((column) => column.name === name);
}

function liesAlike(
  before: FragmentFacts,
  one: ColumnFacts | undefined,
  after: FragmentFacts,
  other: ColumnFacts | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.exact !== other.exact) return false;
  const [ids, others] = [one.ids, other.ids];
  return (
    ids.length === others.length &&
    ids.every((id, at) => {
      const beside = others[at]!;
      const place = fileOf(before, id);
      return (id === beside || place === undefined) && place === fileOf(after, beside);
    })
  );
}
