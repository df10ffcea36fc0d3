import { errorTable } from '../../protocol/errors.ts';
import { readableInstancesOf } from '../../audit/chain/log-files.ts';
import { timeOf } from '../../audit/record/time.ts';
import type { LoggedRecord } from '../../audit/record/record.ts';
import { reportFound, reasonOf } from '../../audit/search/report.ts';
import type { RequestCounts } from '../../audit/search/request-counts.ts';
import { reviewMarks, type ReviewMark } from '../../audit/search/review-marks.ts';
import { searchRequests, type FoundRequest } from '../../audit/search/search.ts';
import { partsOfInstance } from '../../audit/segments/log-part.ts';
import type { Config } from '../config/config-table.ts';
import { columns, type Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { zoneOf, type Zone } from '../output/zone.ts';
import { RuleTexts } from '../policy/rule-text.ts';
import { bringArchive } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';
import {
  entriesOfCommit,
  joinedParts,
  entriesOfRead,
  entriesOfVending,
  type PageEntry,
} from './audit-entries.ts';
import { jsonLine } from './audit-format.ts';

export interface ShowFlags {
  readonly json?: boolean;
  readonly tz?: string;
}

/** Does `arrowgate audit show`. */
export async function showAudit(
  config: Config,
  id: string,
  flags: ShowFlags,
  run: Run,
): Promise<void> {
  if (id === '') throw new UsageError('the id is empty');
  const zone = zoneOf(flags.tz);
  const folder = await openedForReading(config);
  await bringArchive(config, folder, {}, run);
  const { audit } = folder;
  const isInstance = (await readableInstancesOf(audit)).includes(id);
  const shown = isInstance ? showInstance : showRequests;
  const found = await shown(audit, id, { zone, width: run.output.width });
  if (found === undefined) {
    run.code = 1;
    run.output.note(
      `no record has the request, decision or instance id ${id}; audit search finds records by other fields`,
    );
    if (flags.json === true) run.output.line('[]');
    return;
  }
  run.output.line(flags.json === true ? found.json : found.text);
}

/** How a page is printed. */
interface Page {
  readonly zone: Zone;
  /** Characters of a line; undefined for any number. */
  readonly width: number | undefined;
}

interface Shown {
  readonly text: string;
  readonly json: string;
}

async function showRequests(audit: string, id: string, page: Page): Promise<Shown | undefined> {
  const rules = new RuleTexts(audit);
  const marks = await reviewMarks(audit);
  const pages: string[] = [];
  const objects: string[] = [];
  for await (const batch of searchRequests(audit, { text: id })) {
    for (const found of batch.filter(({ record }) => isOf(record, id))) {
      const { policy_digest: digest, rule } = found.record;
      const ruleText = await rules.of(digest, rule);
      const mark = marks.get(found.record.decision_id);
      pages.push(pageOf(found, ruleText, page, mark));
      objects.push(
        `${jsonLine(found).trimEnd().slice(0, -1)},"rule_text":${JSON.stringify(ruleText)},"review":${JSON.stringify(mark ?? null)}}`,
      );
    }
  }
  if (pages.length === 0) return undefined;
  return { text: pages.join('\n\n'), json: `[${objects.join(',')}]` };
}

function isOf({ request_id, decision_id }: LoggedRecord, id: string): boolean {
  return request_id === id || decision_id === id;
}

function pageOf(
  { record, began }: FoundRequest,
  ruleText: string | null,
  { zone, width }: Page,
  mark: ReviewMark | undefined,
): string {
  const { request_id, decision_id, policy_digest, instance, sequence, hash, phase } = record;
  const end =
    phase === 'attempt'
      ? 'there is no outcome yet'
      : `took ${Number(record.duration_us ?? 0n) / 1000} ms`;
  return entryText(
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

function entryText(entries: readonly PageEntry[], width: number | undefined): string {
  const labels = Math.max(...entries.map(([label]) => label.length));
  const room = width === undefined ? Infinity : Math.max(20, width - labels - 2);
  // The texts come from clients, and must not reach a terminal as control characters.
  return columns(
    entries.flatMap(([label, text]) => {
      if (text === null) return [];
      const [first = '', ...others] = wrapped(text.replaceAll(/\p{Cc}/gu, '?'), room);
      return [[label, first], ...others.map((line) => ['', line])];
    }),
  );
}

/** The lines of a text, broken at spaces where there are some. */
function wrapped(text: string, room: number): readonly string[] {
  if (text.length <= room) return [text];
  const space = text.lastIndexOf(' ', room);
  const end = space > 0 ? space : room;
  return [text.slice(0, end), ...wrapped(text.slice(end).trimStart(), room)];
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

async function showInstance(
  audit: string,
  id: string,
  { zone, width }: Page,
): Promise<Shown | undefined> {
  const filter = { text: id };
  const day = (began: string) => began.slice(0, 10);
  const decisions = await reportFound(audit, 'decision', filter, day);
  const subjects = await reportFound(audit, 'subject', filter, day);
  const parts = await partsOfInstance(audit, id);
  const files = parts.map(({ file }) => file.path.slice(audit.length + 1));
  const all = [...decisions];
  const first = all.map((each) => each.first).reduce(least, undefined);
  const last = all.map((each) => each.last).reduce(most, undefined);
  const bounds = {
    first: first === undefined ? null : timeOf(first),
    last: last === undefined ? null : timeOf(last),
  };
  const text = entryText(
    [
      ['instance', id],
      ['requests', String(all.reduce((sum, each) => sum + countOf(each), 0))],
      ['first', bounds.first === null ? null : zone.shown(bounds.first)],
      ['last', bounds.last === null ? null : zone.shown(bounds.last)],
      ...decisions.map((each): PageEntry => [`  ${each.key}`, String(countOf(each))]),
      [
        'subjects',
        subjects.map((each) => `${each.key ?? 'unknown'} (${countOf(each)})`).join(', ') || null,
      ],
      ['files', files.join(', ') || null],
      ['more', `arrowgate audit search --text ${id}`],
    ],
    width,
  );
  const counts = (tallies: readonly RequestCounts[]) =>
    Object.fromEntries(tallies.map((each) => [each.key ?? '', countOf(each)]));
  const json = JSON.stringify({
    instance: id,
    ...bounds,
    decisions: counts(decisions),
    subjects: counts(subjects),
    files,
  });
  return { text, json };
}

function countOf({ requests, open }: RequestCounts): number {
  return requests + open;
}

const least = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b < a ? b : a);
const most = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b > a ? b : a);
