import type { LoggedRecord } from '../../audit/record/record.ts';

/** A label and its text; entries without a text are not printed. */
export type PageEntry = readonly [string, string | null];

export function joinedParts(parts: readonly (string | null)[]): string | null {
  return parts.filter((part) => part !== null && part !== '').join(', ') || null;
}

/** What was read of a table. */
export function entriesOfRead({ read }: LoggedRecord): readonly PageEntry[] {
  if (read === null) return [];
  const { columns, rows, version, filter } = read;
  const names = columns.length === 0 ? 'no column' : columns.join(', ');
  return [
    ['read', `${names} of version ${version}, ${rows} rows sent`],
    ['filter', filter === null ? null : `SHA-256 ${filter}`],
  ];
}

export function entriesOfVending({ vended }: LoggedRecord): readonly PageEntry[] {
  if (vended === null) return [];
  const { prefix, access, until } = vended;
  const end = until === null ? 'without end' : `until ${until}`;
  return [['credentials', joinedParts([access, prefix, end])]];
}

export function entriesOfCommit({ commit }: LoggedRecord): readonly PageEntry[] {
  if (commit === null) return [];
  const { kind, baseVersion, version, rowsAdded, rowsChanged, rowsRemoved } = commit;
  const versions = version === null ? null : `version ${baseVersion ?? 'none'} to ${version}`;
  const rows = `${rowsAdded} rows added, ${rowsChanged ?? 'unknown'} changed, ${rowsRemoved} removed`;
  return [
    ['commit', joinedParts([kind, versions, commit.schemaChanged ? 'schema changed' : null])],
    ['rows', rows],
    ['columns', commit.columns?.join(', ') || null],
    ['statement', commit.statement ?? null],
    ['rules', commit.rules.join(', ') || null],
  ];
}
