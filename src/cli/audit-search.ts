import { followRequests } from '../audit/request-follow.ts';
import type { RequestFilter } from '../audit/request-filter.ts';
import { searchRequests, type FoundRequest } from '../audit/request-search.ts';
import { filterOf, type FilterFlags } from './audit-filter.ts';
import { formatOf } from './audit-format.ts';
import type { Config } from './config-table.ts';
import { openedForReading } from './data-folder.ts';
import type { Run } from './run.ts';
import { stopSignal } from './stop-signal.ts';
import { UsageError } from './usage-error.ts';

interface SearchFlags extends FilterFlags {
  readonly format?: string;
  readonly json?: boolean;
  readonly follow?: boolean;
}

/** Does `arrowgate audit search`. @throws UsageError for flags that can mean nothing */
export async function searchAudit(config: Config, flags: SearchFlags, run: Run): Promise<void> {
  const filter = filterOf(flags);
  const format = formatOf(formatName(flags));
  const { audit } = await openedForReading(config);
  const { output } = run;
  await output.bytes(format.begin());
  for await (const requests of found(audit, filter, flags)) {
    if (!(await output.bytes(format.requests(requests)))) return;
  }
  await output.bytes(format.end());
}

function found(
  folder: string,
  filter: RequestFilter,
  { follow }: SearchFlags,
): AsyncGenerator<readonly FoundRequest[]> {
  if (follow !== true) return searchRequests(folder, filter);
  const stop = new AbortController();
  void stopSignal().then(() => stop.abort());
  return followRequests(folder, filter, stop.signal);
}

function formatName({ format, json }: SearchFlags): string {
  if (json !== true) return format ?? 'table';
  if (format !== undefined && format !== 'json') {
    throw new UsageError(`--json and --format ${format} are at odds`);
  }
  return 'json';
}
