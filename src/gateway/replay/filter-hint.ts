import type { RequestFilter } from '../../audit/search/filter.ts';
import { reportRequests } from '../../audit/search/report.ts';
import { searchRequests } from '../../audit/search/search.ts';
import { nearestName } from '../../policy/nearest.ts';

/** Requests in which columns are looked up, about. */
const MOST_REQUESTS = 100_000;
/** Names of backends that are listed. */
const MOST_LISTED = 10;

/**
 * Says which column or backend may be meant by a filter that found nothing; undefined if its names occur, or nothing is near.
 * @throws as a search does
 */
export async function filterHint(
  folder: string,
  filter: RequestFilter,
): Promise<string | undefined> {
  return (await backendHint(folder, filter)) ?? columnHint(folder, filter);
}

async function columnHint(
  folder: string,
  { column, ...others }: RequestFilter,
): Promise<string | undefined> {
  if (column === undefined) return undefined;
  const meant = nearestName(column, await columnsRead(folder, others));
  return meant && `no request read ${column}: did you mean ${meant}?`;
}

/** Columns that some of the requests of a filter read. */
async function columnsRead(folder: string, filter: RequestFilter): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  let requests = 0;
  for await (const some of searchRequests(folder, filter)) {
    for (const { record } of some) for (const name of record.read?.columns ?? []) names.add(name);
    requests += some.length;
    if (requests >= MOST_REQUESTS) break;
  }
  return names;
}

async function backendHint(
  folder: string,
  { backend, since, until }: RequestFilter,
): Promise<string | undefined> {
  if (backend === undefined) return undefined;
  const period = { ...(since !== undefined && { since }), ...(until !== undefined && { until }) };
  const counts = await reportRequests(folder, 'backend', period);
  const names = counts.flatMap(({ key }) => (key === null ? [] : [key]));
  if (names.length === 0 || names.includes(backend)) return undefined;
  const meant = nearestName(backend, names);
  const listed = names.slice(0, MOST_LISTED).join(', ');
  const hint = meant === undefined ? `requests were for ${listed}` : `did you mean ${meant}?`;
  return `no request was for the backend ${backend}: ${hint}`;
}
