import { CatalogError } from '../../../protocol/errors.ts';
import { readParameter } from '../../../protocol/query-parameter.ts';
import type { MergeRequest } from '../../change/merge-condition.ts';

type Query = ReadonlyMap<string, readonly string[]>;

/**
 * What the query of MergeInsertIntoTable asks for. Without any `when_…` parameter a merge
 * updates the rows that match and inserts the others; with one, those that are absent are
 * false. `use_lsm` changes nothing and is not read. The time runs from here on.
 * @param requestTimeout The header `x-request-timeout-ms`, by which the LanceDB
 * client says what the query's `timeout` does (wire contract, section 1.7).
 * @throws CatalogError InvalidInput.
 */
export function mergeParameters(query: Query, requestTimeout?: string): MergeRequest {
  const on = query.get('on') ?? [];
  if (on.length === 0) throw invalid('on must name the columns that rows are matched on');
  const isUpsert = [...query.keys()].every((name) => !name.startsWith('when_'));
  const request = {
    on,
    update: isUpsert || flag(query, 'when_matched_update_all'),
    updateIf: condition(query, 'when_matched_update_all'),
    insert: isUpsert || flag(query, 'when_not_matched_insert_all'),
    remove: flag(query, 'when_not_matched_by_source_delete'),
    removeIf: condition(query, 'when_not_matched_by_source_delete'),
    useIndex: flag(query, 'use_index', true),
    checkTime: deadline(query.get('timeout')?.[0] ?? ofMillis(requestTimeout)),
  };
  if (request.update || request.insert || request.remove) return request;
  throw invalid('a merge must update, insert or delete; the request enables none of these');
}

function flag(query: Query, name: string, otherwise = false): boolean {
  const text = query.get(name)?.[0];
  return text === undefined ? otherwise : readParameter(name, text) === true;
}

/** The condition of a step, which requires the step. */
function condition(query: Query, step: string): string | null {
  const name = `${step}_filt`;
  const text = query.get(name)?.[0];
  if (text === undefined || text.trim() === '') return null;
  if (flag(query, step)) return text;
  throw invalid(`${name} is a condition of ${step}, which the request does not enable`);
}

/** The units of a duration in milliseconds. */
const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  sec: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

const PART = /(\d{1,9}(?:\.\d{1,9})?)(ms|sec|s|min|m|h)/g;
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|sec|s|min|m|h))+$/;

/** A header that is not a number is ignored: any client may send it. */
function ofMillis(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? `${text}ms` : undefined;
}

/** A function that throws after a duration such as `30s` or `1m30s`. */
function deadline(text: string | undefined): () => void {
  if (text === undefined) return () => undefined;
  const plain = text.replaceAll(' ', '');
  if (plain.length > 60 || !DURATION.test(plain)) {
    throw invalid('timeout must be a duration such as 30s, 500ms or 1m30s');
  }
  let limit = 0;
  for (const [, count, unit = ''] of plain.matchAll(PART)) {
    limit += Number(count) * (units[unit] ?? 0);
  }
  const end = performance.now() + limit;
  return () => {
    if (performance.now() <= end) return;
    throw invalid(
      `the timeout of ${plain} passed before the rows were merged; nothing was changed`,
    );
  };
}

function invalid(message: string): CatalogError {
  return new CatalogError('InvalidInput', message);
}
