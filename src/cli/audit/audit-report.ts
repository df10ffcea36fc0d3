import { reportRequests } from '../../audit/search/report.ts';
import {
  reportKeys,
  type ReportKey,
  type RequestCounts,
} from '../../audit/search/request-counts.ts';
import { timeOf } from '../../audit/record/time.ts';
import { periodFilter, type WindowFlags } from './audit-filter.ts';
import type { Config } from '../config/config-table.ts';
import { openedForReading } from '../service/data-folder.ts';
import { columns, progressOf, type Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';

interface ReportFlags extends WindowFlags {
  readonly by: string;
  readonly json?: boolean;
}

/** Does `arrowgate audit report`. @throws UsageError for flags that can mean nothing */
export async function reportAudit(config: Config, flags: ReportFlags, run: Run): Promise<void> {
  const by = keyOf(flags.by);
  const window = periodFilter(flags);
  const { progress } = progressOf(run.output);
  const folder = await openedForReading(config);
  const tallies = await reportRequests(folder.audit, by, window, (records) =>
    progress?.(`${records} records`),
  );
  run.output.line(flags.json === true ? jsonOf(by, tallies) : textOf(by, tallies));
}

function keyOf(typed: string): ReportKey {
  const found = reportKeys.find((key) => key === typed);
  if (found !== undefined) return found;
  throw new UsageError(
    `--by is ${JSON.stringify(typed)}, but must be one of ${reportKeys.join(', ')}`,
  );
}

function jsonOf(by: ReportKey, tallies: readonly RequestCounts[]): string {
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

function textOf(by: ReportKey, tallies: readonly RequestCounts[]): string {
  if (tallies.length === 0) return 'no requests';
  const heading = [by.toUpperCase(), 'REQUESTS', 'ALLOWED', 'DENIED', 'OTHERS', 'NO OUTCOME'];
  const rows = tallies.map((tally) => cells(tally));
  return columns([[...heading, 'BYTES IN', 'BYTES OUT', 'FIRST', 'LAST'], ...rows]);
}

function cells(tally: RequestCounts): readonly string[] {
  const { key, requests, open, decisions, bytesIn, bytesOut, first, last } = tally;
  const [allowed, denied] = [decisions.get('allow') ?? 0, decisions.get('deny') ?? 0];
  const counts = [requests + open, allowed, denied, requests - allowed - denied, open];
  const sizes = [bytesIn, bytesOut];
  return [key ?? '-', ...[...counts, ...sizes].map(String), timeOf(first), timeOf(last)];
}
