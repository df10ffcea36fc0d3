import type { Field, Schema } from 'apache-arrow';
import type { CommitSummary } from '../../protocol/commit-summary.ts';
import { sameSchema } from '../format/incoming.ts';
import { fragmentKey, type Fragment } from '../format/snapshot.ts';
import type { Committed } from '../versions/lines/version-commits.ts';

/** Summary of a commit of a table's rows, for the audit record. */
export function commitSummary(kind: string, { table, base, manifest }: Committed): CommitSummary {
  const before = base?.fragments ?? [];
  return {
    kind,
    baseVersion: base?.version ?? null,
    version: manifest.version,
    rowsAdded: rowsMissing(manifest.fragments, before),
    rowsRemoved: rowsMissing(before, manifest.fragments),
    schemaChanged: base === undefined || !sameSchema(base.schema, manifest.schema),
    rules: [],
    table,
    // An append is frequent, and leaves every row as it was.
    rowsChanged: kind === 'append' ? 0n : rowsReplaced(before, manifest.fragments),
    columns: base === undefined ? [] : changedColumns(base.schema, manifest.schema),
    statement: null,
  };
}

/** How many rows came to a table, left it, and got other values. */
interface RowCounts {
  readonly added: bigint;
  readonly removed: bigint;
  readonly changed: bigint;
}

/**
 * What a commit did that knows its rows one by one.
 * @param columns Those whose values it changed.
 */
export function changeSummary(
  kind: string,
  committed: Committed,
  { added, removed, changed }: RowCounts,
  columns: readonly string[] = [],
): CommitSummary {
  return {
    ...commitSummary(kind, committed),
    rowsAdded: added,
    rowsRemoved: removed,
    rowsChanged: changed,
    columns,
  };
}

/**
 * What a change did that left a table's rows and versions alone.
 * @param table Its id, where it was about one table that is known.
 */
export function placeSummary(kind: string, table: string | null = null): CommitSummary {
  return {
    kind,
    baseVersion: null,
    version: null,
    rowsAdded: 0n,
    rowsRemoved: 0n,
    schemaChanged: false,
    rules: [],
    table,
    rowsChanged: 0n,
    columns: [],
    statement: null,
  };
}

/** Names of columns that one schema has and the other has not, or defines in another way. */
function changedColumns(before: Schema, after: Schema): readonly string[] {
  if (before === after || sameSchema(before, after)) return [];
  const [old, now] = [before, after].map(
    ({ fields }) => new Map(fields.map((field) => [field.name, definitionOf(field)])),
  ) as [Map<string, string>, Map<string, string>];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].filter((name) => old.get(name) !== now.get(name));
}

function definitionOf({ type, nullable }: Field): string {
  return `${String(type)} ${nullable}`;
}

/** Rows of fragments that stay, and of which a file went for another. */
function rowsReplaced(before: readonly Fragment[], after: readonly Fragment[]): bigint {
  const byKey = new Map(before.map((fragment) => [fragmentKey(fragment), fragment]));
  return after.reduce((sum, fragment) => {
    const old = byKey.get(fragmentKey(fragment));
    if (old === undefined || old === fragment || old.files === fragment.files) return sum;
    return wasReplaced(old.files, fragment.files) ? sum + BigInt(fragment.rows) : sum;
  }, 0n);
}

/** How many rows of some fragments others do not have. */
function rowsMissing(some: readonly Fragment[], others: readonly Fragment[]): bigint {
  const rowsByKey = new Map(others.map((fragment) => [fragmentKey(fragment), fragment.rows]));
  return some.reduce((sum, fragment) => {
    const missing = fragment.rows - (rowsByKey.get(fragmentKey(fragment)) ?? 0);
    return sum + BigInt(Math.max(0, missing));
  }, 0n);
}

/** Whether some file of a fragment went, and another came. */
export function wasReplaced(
  before: readonly { readonly path: string }[],
  after: readonly { readonly path: string }[],
): boolean {
  const lacks = (some: typeof before, others: typeof before): boolean =>
    others.some(({ path }) => some.every((one) => one.path !== path));
  return lacks(after, before) && lacks(before, after);
}
