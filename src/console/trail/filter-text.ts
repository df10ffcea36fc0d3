import type { RequestFilter } from '../../audit/search/filter.ts';
import { microsOf, timeOf } from '../../audit/record/time.ts';
import { criteria, typedFilter, type TypedFilter } from '../../gateway/replay/typed-filter.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { MOMENTS, typedMoment, utcCalendar } from '../../protocol/moment.ts';

const PERIOD = ['since', 'until'] as const;

/** A filter as texts, which a thread can be given. Times are RFC 3339 with microseconds. */
export type FilterText = TypedFilter & Readonly<Partial<Record<(typeof PERIOD)[number], string>>>;

/** The filter of a query. Days and durations back become times. @throws CatalogError InvalidInput */
export function filterTextOf(query: URLSearchParams, now: number): FilterText {
  const given = [...PERIOD, ...criteria].flatMap((name) => {
    const all = query.getAll(name);
    if (all.length > 1) throw invalid(`the parameter ${name} may be given once`);
    const [value = ''] = all;
    return value.trim() === '' ? [] : [[name, value.trim()] as const];
  });
  const text: Record<string, string> = Object.fromEntries(given);
  for (const name of PERIOD) {
    const typed = text[name];
    if (typed !== undefined) text[name] = timeOf(momentOf(name, typed, now));
  }
  requestFilterOf(text);
  return text;
}

/** @throws CatalogError InvalidInput for a value that can mean nothing */
export function requestFilterOf({ since, until, ...given }: FilterText): RequestFilter {
  if (since !== undefined && until !== undefined && since >= until) {
    throw invalid(`since is ${since}, which is not before until, ${until}`);
  }
  const typed = typedFilter(given);
  if ('fault' in typed) throw invalid(`${typed.name} ${typed.fault}`);
  return {
    ...(since === undefined ? {} : { since: microsOf(since) }),
    ...(until === undefined ? {} : { until: microsOf(until) }),
    ...typed.filter,
  };
}

function momentOf(name: string, typed: string, now: number): bigint {
  const micros = typedMoment(typed, utcCalendar, now);
  if (micros !== undefined) return micros;
  throw invalid(`${name} is ${JSON.stringify(typed)}, but must be ${MOMENTS}`);
}

function invalid(sentence: string): CatalogError {
  return new CatalogError('InvalidInput', sentence);
}
