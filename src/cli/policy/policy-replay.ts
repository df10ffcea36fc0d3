import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readRequests } from '../../audit/decided/reader.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import { Replay } from '../../gateway/replay/replay.ts';
import type {
  ChangedRequests,
  ReplayReport,
  SeenRequests,
} from '../../gateway/replay/replay-report.ts';
import { loadPolicyLines } from '../../policy/load.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { bringArchive, windowOfPeriod } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';
import { meterOf, type Run } from '../output/output.ts';
import { tableText, withTable, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { periodOf, withPeriod, type PeriodFlags } from '../config/key-details.ts';

interface ReplayFlags extends PeriodFlags, TableFlags {
  readonly json?: boolean;
}

/** `arrowgate policy replay`. */
export function addReplay(policy: Command, run: Run): void {
  withTable(withPeriod(withConfig(policy.command('replay'), ['policies', 'data'])))
    .description('replay the requests of the audit log against a proposed policy')
    .option('--json', 'print JSON')
    .action(async (flags: ReplayFlags, command: Command) => {
      const report = await replay(flags, command, run);
      run.code = report.changed.length + report.seen.length === 0 ? 0 : 1;
      run.output.line(
        flags.json === true ? JSON.stringify(report.shown()) : textOf(report, flags, run),
      );
    });
}

async function replay(flags: ReplayFlags, command: Command, run: Run): Promise<ReplayReport> {
  const period = periodOf(flags);
  const config = configOf(command);
  const folder = await openedForReading(config);
  await bringArchive(config, folder, windowOfPeriod(period), run);
  const { output } = run;
  const { audit } = folder;
  const policies = new PoliciesBefore(audit);
  const proposed = await loadPolicyLines(resolve(config.policies));
  const replayed = new Replay({ proposed, before: (digest) => policies.of(digest) });
  const progress = meterOf(output, 'requests');
  for await (const requests of readRequests(audit, period)) {
    await replayed.add(requests);
    progress(replayed.report.requests);
  }
  return replayed.report;
}

const changedColumns: readonly PrintedColumn[] = [
  { heading: 'CHANGE' },
  { heading: 'SUBJECT', least: 12 },
  { heading: 'ACTION', least: 12 },
  { heading: 'OBJECT', least: 14 },
  { heading: 'REQUESTS' },
  // A day.
  { heading: 'LAST', least: 11 },
  { heading: 'THEN', least: 12 },
  { heading: 'NOW', least: 12 },
];

function textOf(report: ReplayReport, flags: TableFlags, { output }: Run): string {
  const { requests, same, changed, seeing, seen, skipped } = report;
  const table =
    changed.length === 0 ? [] : [tableText(changedColumns, changed.map(rowOf), flags, output)];
  const sights =
    seen.length === 0
      ? []
      : [tableText(seenColumns, seen.map(seenRow), { header: flags.header !== false }, output)];
  const partly = changed.some((one) => one.partly)
    ? ['(*) as far as the route shows: the body was never read, and may ask for more']
    : [];
  const left = skipped.map(
    ({ why, requests: count, example }) =>
      `not decided again: ${count}, such as ${example}: ${why}`,
  );
  const changes = `${report.count('lose')} lost, ${report.count('gain')} gained`;
  const others = seeing === 0 ? '' : `, ${seeing} would show other rows or columns`;
  const counts = `${same} as before, ${changes}${others}`;
  return [
    ...table,
    ...partly,
    ...sights,
    ...left,
    `looked at ${requests} requests: ${counts}`,
  ].join('\n');
}

const seenColumns: readonly PrintedColumn[] = [
  { heading: 'SEES' },
  ...changedColumns.filter(({ heading }) => heading !== 'CHANGE' && heading !== 'ACTION'),
];

function seenRow({
  direction,
  column,
  subject,
  object,
  requests,
  last,
  was,
  now,
}: SeenRequests): readonly string[] {
  const what = column === null ? 'rows' : `of ${column}`;
  return [`${direction} ${what}`, subject, object, String(requests), last, was, now];
}

function rowOf({
  kind,
  subject,
  action,
  object,
  requests,
  last,
  was,
  now,
  partly,
}: ChangedRequests) {
  return [
    `${kind}s${partly ? ' (*)' : ''}`,
    subject,
    action,
    object,
    String(requests),
    last,
    was.rule ?? 'no line',
    now.rule ?? 'no line',
  ];
}
