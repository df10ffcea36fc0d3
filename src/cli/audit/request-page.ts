import type { LoggedRecord } from '../../audit/record/record.ts';
import { reasonOf } from '../../audit/search/report.ts';
import type { ReviewMark } from '../../audit/search/review-marks.ts';
import type { FoundRequest } from '../../audit/search/search.ts';
import { errorTable } from '../../protocol/errors.ts';
import { labelledText, type LabelledText } from '../output/fitted.ts';
import type { Zone } from '../output/zone.ts';

/** How a page is printed. */
export interface PageLayout {
  readonly zone: Zone;
  /** Characters of a line; undefined for any number. */
  readonly width: number | undefined;
}

/** One request as labels and texts. @param ruleText Text of the line that decided; null if it is not known. */
export function pageOf(
  { record, began }: FoundRequest,
  ruleText: string | null,
  { zone, width }: PageLayout,
  mark: ReviewMark | undefined,
): string {
  const { request_id, decision_id, policy_digest, instance, sequence, hash, phase } = record;
  const end =
    phase === 'attempt'
      ? 'there is no outcome yet'
      : `took ${Number(record.duration_us ?? 0n) / 1000} ms`;
  return labelledText(
    [
      ['request', request_id],
      ['decision id', decision_id],
      ['time', `${zone.shown(began)}, ${end}`],
      ['who', whoOf(record)],
      ['credential', joinedParts([record.credential, principalText(record)])],
      ['from', joinedParts([record.source_ip, record.user_agent])],
      ['operation', operationText(record)],
      ['objects', record.objects.join(', ') || null],
      ['rights', record.rights.map(rightText).join('; ') || null],
      ['context', contextText(record)],
      ['decision', decisionText(record)],
      ['line', ruleText],
      ['bound by', record.restrictions.join(', ') || null],
      ['canary', record.canary],
      ['policy', policy_digest],
      ['shadow', shadowText(record)],
      ['answer', answerText(record)],
      ...entriesOfRead(record),
      ...entriesOfCommit(record),
      ...entriesOfVending(record),
      ['review', reviewText(mark, zone)],
      ['record', `${instance} ${sequence}, SHA-256 ${hash}`],
      ['more', `arrowgate policy explain --decision-id ${decision_id}`],
    ],
    width,
  );
}

function reviewText(mark: ReviewMark | undefined, zone: Zone): string | null {
  if (mark === undefined) return null;
  const { mark: state, by, time, note } = mark;
  return joinedParts([`${state} by ${by ?? 'unknown'} at ${zone.shown(time)}`, note]);
}

function whoOf({ subject, principal }: LoggedRecord): string {
  return joinedParts([subject ?? 'nobody who is known', ...(principal?.groups ?? [])])!;
}

function principalText({ principal }: LoggedRecord): string | null {
  const scopes = (principal?.scopes ?? []).map(({ action, pattern }) => `${action}:${pattern}`);
  return joinedParts([
    principal && principal.roles.length > 0 ? `with ${principal.roles.join(' ')}` : null,
    scopes.length > 0 ? `restricted to ${scopes.join(' ')}` : null,
  ]);
}

function operationText({ operation, object, mode, branch, backend }: LoggedRecord): string {
  const what = [operation ?? 'unknown', object].filter((part) => part !== null).join(' ');
  return joinedParts([
    what,
    mode === null ? null : `mode ${mode}`,
    branch === null ? null : `branch ${branch}`,
    backend === null ? null : `at ${backend}`,
  ])!;
}

function rightText({ action, branch, objects }: LoggedRecord['rights'][number]): string {
  return `${action} on ${objects.join(' ')}${branch === null ? '' : ` (branch ${branch})`}`;
}

function contextText({ context }: LoggedRecord): string | null {
  return (
    Object.entries(context)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ') || null
  );
}

function decisionText(record: LoggedRecord): string {
  const { decision, rule } = record;
  const reason = decision === 'allow' ? null : reasonOf(record);
  return joinedParts([rule === null ? decision : `${decision} by ${rule}`, reason])!;
}

function shadowText({ shadow }: LoggedRecord): string | null {
  if (shadow === null) return null;
  return `${shadow.decision} by ${shadow.rule ?? 'no line'} of ${shadow.policy_digest}`;
}

function answerText({ status, code, bytes_in, bytes_out }: LoggedRecord): string | null {
  if (status === null) return null;
  const name = errorTable.find((row) => row.code === code)?.name;
  const error = name === undefined ? null : `code ${code} ${name}`;
  return joinedParts([
    String(status),
    error,
    `${bytes_in ?? 0} bytes in`,
    `${bytes_out ?? 0} bytes out`,
  ]);
}

function joinedParts(parts: readonly (string | null)[]): string | null {
  return parts.filter((part) => part !== null && part !== '').join(', ') || null;
}

/** What was read of a table. */
function entriesOfRead({ read }: LoggedRecord): readonly LabelledText[] {
  if (read === null) return [];
  const { columns, rows, version, filter } = read;
  const names = columns.length === 0 ? 'no column' : columns.join(', ');
  return [
    ['read', `${names} of version ${version}, ${rows} rows sent`],
    ['filter', filter === null ? null : `SHA-256 ${filter}`],
  ];
}

function entriesOfVending({ vended }: LoggedRecord): readonly LabelledText[] {
  if (vended === null) return [];
  const { prefix, access, until } = vended;
  const end = until === null ? 'without end' : `until ${until}`;
  return [['credentials', joinedParts([access, prefix, end])]];
}

function entriesOfCommit({ commit }: LoggedRecord): readonly LabelledText[] {
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
