import { reportFound, reportKeys, type ReportKey } from '../../audit/search/report.ts';
import type { RequestCounts } from '../../audit/search/request-counts.ts';
import { timeOf } from '../../audit/record/time.ts';
import { filterOf, type FilterFlags } from './audit-filter.ts';
import type { Config } from '../config/config-table.ts';
import { bringArchive } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';
import { csvText } from '../output/csv.ts';
import { meterOf, type Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { tableText, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { zoneOf } from '../output/zone.ts';

export interface ReportFlags extends FilterFlags, TableFlags {
  readonly by: string;
  readonly format?: string;
  readonly json?: boolean;
}

/** Does `arrowgate audit report`. @throws UsageError for flags that can mean nothing */
export async function reportAudit(config: Config, flags: ReportFlags, run: Run): Promise<void> {
  const by = keyOf(flags.by);
  const filter = filterOf(flags);
  const format = formats[formatName(flags)];
  const zone = zoneOf(flags.tz);
  const folder = await openedForReading(config);
  await bringArchive(config, folder, filter, run);
  const found = await reportFound(
    folder.audit,
    by,
    filter,
    (began) => zone.dayOf(Date.parse(began)),
    meterOf(run.output, 'records'),
  );
  // Days are read as a calendar, everything else by its size.
  const byDay = (one: RequestCounts, other: RequestCounts) => (one.key! < other.key! ? -1 : 1);
  const tallies = by === 'day' ? found.toSorted(byDay) : found;
  run.output.line(format({ by, tallies, flags, run }));
}

function keyOf(typed: string): ReportKey {
  const found = reportKeys.find((key) => key === typed);
  if (found !== undefined) return found;
  throw new UsageError(
    `--by is ${JSON.stringify(typed)}, but must be one of ${reportKeys.join(', ')}`,
  );
}

interface Report {
  readonly by: ReportKey;
  readonly tallies: readonly RequestCounts[];
  readonly flags: ReportFlags;
  readonly run: Run;
}

const formats = { table: textOf, json: jsonOf, csv: csvOf };

type Format = keyof typeof formats;

/** @throws UsageError */
function formatName({ format, json }: ReportFlags): Format {
  if (json === true && format !== undefined && format !== 'json') {
    throw new UsageError(`--json and --format ${format} cannot be combined: leave one out`);
  }
  const typed = json === true ? 'json' : (format ?? 'table');
  if (typed === 'table' || typed === 'json' || typed === 'csv') return typed;
  throw new UsageError(
    `--format is ${JSON.stringify(typed)}, but must be one of ${Object.keys(formats).join(', ')}`,
  );
}

function jsonOf({ by, tallies }: Report): string {
  return JSON.stringify(
    tallies.map(({ key, requests, open, decisions, bytesIn, bytesOut, first, last }) => ({
      [by]: key,
      requests: requests + open,
      without_outcome: open,
      decisions: Object.fromEntries(decisions),
      bytes_in: Number(bytesIn),
      bytes_out: Number(bytesOut),
      first: timeOf(first),
      last: timeOf(last),
    })),
  );
}

const counted = [
  'requests',
  'allowed',
  'denied',
  'others',
  'no_outcome',
  'bytes_in',
  'bytes_out',
] as const;

/** The counts of a row, in the order of `counted`. */
function countsOf({
  requests,
  open,
  decisions,
  bytesIn,
  bytesOut,
}: RequestCounts): readonly (number | bigint)[] {
  const [allowed, denied] = [decisions.get('allow') ?? 0, decisions.get('deny') ?? 0];
  const others = requests - allowed - denied;
  return [requests + open, allowed, denied, others, open, bytesIn, bytesOut];
}

function csvOf({ by, tallies }: Report): string {
  const rows = tallies.map((tally) => [
    tally.key,
    ...countsOf(tally),
    timeOf(tally.first),
    timeOf(tally.last),
  ]);
  return csvText([by, ...counted, 'first', 'last'], rows).trimEnd();
}

function textOf({ by, tallies, flags, run }: Report): string {
  if (tallies.length === 0) return 'no requests';
  const zone = zoneOf(flags.tz);
  const columns: readonly PrintedColumn[] = [
    { heading: by.toUpperCase(), least: 12 },
    ...counted.map((name) => ({ heading: name.toUpperCase().replaceAll('_', ' ') })),
    { heading: 'FIRST', least: 20 },
    { heading: 'LAST', least: 20 },
  ];
  const rows = tallies.map((tally) => [
    tally.key ?? '-',
    ...countsOf(tally).map(String),
    zone.shown(timeOf(tally.first)),
    zone.shown(timeOf(tally.last)),
  ]);
  return tableText(columns, rows, flags, run.output);
}
