import type { FoundRequest } from '../../audit/search/search.ts';
import { csvLine } from '../output/csv.ts';

type Cell = string | number | bigint | null;

/** Columns of the CSV file of records: the fields of the log, with lists in one cell. */
const columns: Readonly<Record<string, (found: FoundRequest) => Cell>> = {
  began: ({ began }) => began,
  phase: ({ record }) => record.phase,
  time: ({ record }) => record.time,
  duration_us: ({ record }) => record.duration_us,
  subject: ({ record }) => record.subject,
  groups: ({ record }) => listText(record.principal?.groups),
  roles: ({ record }) => listText(record.principal?.roles),
  credential: ({ record }) => record.credential,
  source_ip: ({ record }) => record.source_ip,
  user_agent: ({ record }) => record.user_agent,
  operation: ({ record }) => record.operation,
  object: ({ record }) => record.object,
  objects: ({ record }) => listText(record.objects),
  mode: ({ record }) => record.mode,
  branch: ({ record }) => record.branch,
  backend: ({ record }) => record.backend,
  decision: ({ record }) => record.decision,
  rule: ({ record }) => record.rule,
  policy_digest: ({ record }) => record.policy_digest,
  restrictions: ({ record }) => listText(record.restrictions),
  status: ({ record }) => record.status,
  code: ({ record }) => record.code,
  bytes_in: ({ record }) => record.bytes_in,
  bytes_out: ({ record }) => record.bytes_out,
  read_columns: ({ record }) => listText(record.read?.columns),
  read_rows: ({ record }) => record.read?.rows ?? null,
  read_version: ({ record }) => record.read?.version ?? null,
  read_filter: ({ record }) => record.read?.filter ?? null,
  commit_kind: ({ record }) => record.commit?.kind ?? null,
  commit_base_version: ({ record }) => record.commit?.baseVersion ?? null,
  commit_version: ({ record }) => record.commit?.version ?? null,
  rows_added: ({ record }) => record.commit?.rowsAdded ?? null,
  rows_changed: ({ record }) => record.commit?.rowsChanged ?? null,
  rows_removed: ({ record }) => record.commit?.rowsRemoved ?? null,
  commit_columns: ({ record }) => listText(record.commit?.columns),
  statement: ({ record }) => record.commit?.statement ?? null,
  commit_rules: ({ record }) => listText(record.commit?.rules),
  context: ({ record }) => contextText(record.context),
  request_id: ({ record }) => record.request_id,
  decision_id: ({ record }) => record.decision_id,
  instance: ({ record }) => record.instance,
  sequence: ({ record }) => record.sequence,
  hash: ({ record }) => record.hash,
};

const readers = Object.values(columns);

/** The line of headings. */
export function recordsHeading(): string {
  return csvLine(Object.keys(columns));
}

/** Requests as lines of CSV. */
export function recordLines(requests: readonly FoundRequest[]): string {
  return requests.map((found) => csvLine(readers.map((read) => read(found)))).join('');
}

function listText(values: readonly string[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : values.join(' ');
}

function contextText(context: Readonly<Record<string, string>>): string | null {
  return Object.keys(context).length === 0 ? null : JSON.stringify(context);
}
