import type { CommitSummary } from '../../protocol/commit-summary.ts';
import { sameSchema } from '../table/schema-match.ts';
import { rowsOf } from '../table/change.ts';
import type { Committed } from '../table/tables.ts';

/** What a commit of a table's rows did, for the audit record. */
export function commitSummary(kind: string, { base, manifest }: Committed): CommitSummary {
  const kept = new Set(manifest.fragments.map((fragment) => fragment.file));
  const before = new Set(base?.fragments.map((fragment) => fragment.file));
  return {
    kind,
    baseVersion: base?.version ?? null,
    version: manifest.version,
    rowsAdded: rowsOf({ fragments: manifest.fragments.filter(({ file }) => !before.has(file)) }),
    rowsRemoved: rowsOf({
      fragments: (base?.fragments ?? []).filter(({ file }) => !kept.has(file)),
    }),
    schemaChanged: base === undefined || !sameSchema(base.schema, manifest.schema),
    rules: [],
  };
}
