import { readableInstancesOf } from '../../audit/chain/log-files.ts';
import { timeOf } from '../../audit/record/time.ts';
import type { LoggedRecord } from '../../audit/record/record.ts';
import { reportFound } from '../../audit/search/report.ts';
import type { RequestCounts } from '../../audit/search/request-counts.ts';
import { reviewMarks } from '../../audit/search/review-marks.ts';
import { searchRequests } from '../../audit/search/search.ts';
import { partsOfInstance } from '../../audit/segments/log-part.ts';
import type { Config } from '../config/config-table.ts';
import { labelledText, type LabelledText } from '../output/fitted.ts';
import type { Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { zoneOf } from '../output/zone.ts';
import { RuleTexts } from '../policy/rule-text.ts';
import { bringArchive } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';
import { jsonLine } from './audit-format.ts';
import { pageOf, type PageLayout } from './request-page.ts';

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

interface Shown {
  readonly text: string;
  readonly json: string;
}

async function showRequests(
  audit: string,
  id: string,
  page: PageLayout,
): Promise<Shown | undefined> {
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

async function showInstance(
  audit: string,
  id: string,
  { zone, width }: PageLayout,
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
  const text = labelledText(
    [
      ['instance', id],
      ['requests', String(all.reduce((sum, each) => sum + countOf(each), 0))],
      ['first', bounds.first === null ? null : zone.shown(bounds.first)],
      ['last', bounds.last === null ? null : zone.shown(bounds.last)],
      ...decisions.map((each): LabelledText => [`  ${each.key}`, String(countOf(each))]),
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
