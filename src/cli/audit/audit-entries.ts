import type { LoggedRecord } from '../../audit/record/record.ts';

/** A label and its text; entries without a text are not printed. */
export type Entry = readonly [string, string | null];

export function joined(parts: readonly (string | null)[]): string | null {
  return parts.filter((part) => part !== null && part !== '').join(', ') || null;
}

/** What was read of a table. */
export function readEntries({ read }: LoggedRecord): readonly Entry[] {
  if (read === null) return [];
  const { columns, rows, version, filter } = read;
  const names = columns.length === 0 ? 'no column' : columns.join(', ');
  return [
    ['read', `${names} of version ${version}, ${rows} rows sent`],
    ['filter', filter === null ? null : `SHA-256 ${filter}`],
  ];
}

export function vendedEntries({ vended }: LoggedRecord): readonly Entry[] {
  if (vended === null) return [];
  const { prefix, access, until } = vended;
  const end = until === null ? 'without end' : `until ${until}`;
  return [['credentials', joined([access, prefix, end])]];
}

export function commitEntries({ commit }: LoggedRecord): readonly Entry[] {
  if (commit === null) return [];
  const { kind, baseVersion, version, rowsAdded, rowsChanged, rowsRemoved } = commit;
  const versions = version === null ? null : `version ${baseVersion ?? 'none'} to ${version}`;
  const rows = `${rowsAdded} rows added, ${rowsChanged ?? 'unknown'} changed, ${rowsRemoved} removed`;
  return [
    ['commit', joined([kind, versions, commit.schemaChanged ? 'schema changed' : null])],
    ['rows', rows],
    ['columns', commit.columns?.join(', ') || null],
    ['statement', commit.statement ?? null],
    ['rules', commit.rules.join(', ') || null],
  ];
}
