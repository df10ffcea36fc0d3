import type { ReadPart } from '../../query/plan/recorded-read.ts';
import { leavesOf } from '../../request/text-query.ts';
import type { QueryRequest } from '../../request/request.ts';
import { columnsNamed } from '../../../sql/normal-text.ts';
import type { LanceColumns } from '../../versions/managed/lance-files.ts';
import type { ReadableVersion } from './library-reads.ts';

/** What a query of a Lance table reads. */
export function readOfLibrary(
  query: QueryRequest,
  { at, columns }: Pick<ReadableVersion, 'at' | 'columns'>,
): ReadPart {
  return { columns: columnsOfQuery(query, columns), version: at.version, filter: query.filter };
}

/**
 * Columns that a query of a Lance table reads, by the names in it. Where it names no column to search,
 * all that may be searched count.
 */
function columnsOfQuery(query: QueryRequest, columns: LanceColumns): readonly string[] {
  const { names } = columns;
  const { nearest, text } = query;
  const texts = [
    ...(query.columns ?? []).map((one) => (one.kind === 'column' ? one.name : one.text)),
    ...(query.filter === null ? [] : [query.filter]),
    ...query.order.map(({ column }) => column),
  ];
  const searched = [
    ...(nearest === null ? [] : (named(nearest.column) ?? columns.vectors)),
    ...(text === null ? [] : leavesOf(text.query)).flatMap(
      ({ column }) => named(column) ?? columns.texts,
    ),
  ];
  if (query.columns === null) return names;
  const read = new Set([...texts.flatMap((each) => columnsNamed(each, names)), ...searched]);
  return names.filter((name) => read.has(name));

  function named(column: string | null): readonly string[] | null {
    return column === null ? null : columnsNamed(column, names);
  }
}
