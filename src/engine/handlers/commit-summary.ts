import type { CommitSummary } from '../../protocol/commit-summary.ts';
import { sameSchema } from '../table/schema-match.ts';
import { fragmentKey, type Fragment } from '../table/snapshot.ts';
import type { Committed } from '../table/version-commits.ts';

/** What a commit of a table's rows did, for the audit record. */
export function commitSummary(kind: string, { base, manifest }: Committed): CommitSummary {
  return {
    kind,
    baseVersion: base?.version ?? null,
    version: manifest.version,
    rowsAdded: rowsMissing(manifest.fragments, base?.fragments ?? []),
    rowsRemoved: rowsMissing(base?.fragments ?? [], manifest.fragments),
    schemaChanged: base === undefined || !sameSchema(base.schema, manifest.schema),
    rules: [],
  };
}

/** How many rows came to a table and left it. A row that is updated does neither. */
export interface RowCounts {
  readonly added: bigint;
  readonly removed: bigint;
}

/** What a commit did that knows its rows one by one. */
export function changeSummary(
  kind: string,
  committed: Committed,
  { added, removed }: RowCounts,
): CommitSummary {
  return { ...commitSummary(kind, committed), rowsAdded: added, rowsRemoved: removed };
}

/** What a change did that left a table's rows and versions alone. */
export function placeSummary(kind: string): CommitSummary {
  return {
    kind,
    baseVersion: null,
    version: null,
    rowsAdded: 0n,
    rowsRemoved: 0n,
    schemaChanged: false,
    rules: [],
  };
}

/** How many rows of some fragments others do not have. */
function rowsMissing(some: readonly Fragment[], others: readonly Fragment[]): bigint {
  const known = new Map(others.map((fragment) => [fragmentKey(fragment), fragment.rows]));
  return some.reduce((sum, fragment) => {
    const missing = fragment.rows - (known.get(fragmentKey(fragment)) ?? 0);
    return sum + BigInt(Math.max(0, missing));
  }, 0n);
}
