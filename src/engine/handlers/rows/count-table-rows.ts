import type { Answer } from '../../../protocol/backend.ts';
import { stringifyJson } from '../../../protocol/json.ts';
import type { Handler } from '../call/handler.ts';
import { attended, whenMuchIsRead } from '../../query/scan/attended.ts';
import { versionHeaders } from '../../query/plan/answer.ts';
import { countRows, countRowsWhere, predicateOf } from '../../query/rows/count.ts';
import { statementOf, type Statement } from '../../base/statement.ts';
import { textField } from '../../base/fields.ts';
import { unrestricted } from '../../query/restrict/visible-rows.ts';
import type { VisibleSnapshot } from '../../query/scan/visible-snapshot.ts';
import { countOfRows } from '../../virtual/row-answers.ts';
import { restOn } from '../call/answers.ts';
import { inLibrary, libraryTable } from './library-reads.ts';
import {
  findEngineTable,
  findVisibleRows,
  requestedTable,
  type TableReads,
} from './table-reads.ts';

/** CountTableRows: the number alone, of any size. */
export function countTableRows(reads: TableReads): Handler {
  return async (call) => {
    const predicate = textField(call.body, 'predicate');
    const table = await requestedTable(reads, call);
    const restrictions = call.permit.restrictionsOn(call.request.object);
    if (restrictions !== null) {
      const rows = await findVisibleRows(reads, call, table, restrictions);
      return countOfRows(rows, predicate, call, reads.heavy);
    }
    const library = inLibrary(reads.lance, table);
    if (library !== undefined) {
      const place = await libraryTable(reads, call, table, call.body);
      const count = await library.count(place, predicate, statementOf(call));
      return countAnswer(count, place.at.version);
    }
    const { snapshot, chain, record } = await findEngineTable(reads, call, table);
    // A predicate may depend on the time.
    if (predicate === null) restOn(call, table, chain, record);
    const whole = unrestricted(snapshot, restrictions);
    const count = await counted(reads, whole, predicate, statementOf(call));
    return countAnswer(count, snapshot.version);
  };
}

function countAnswer(count: bigint, version: bigint): Answer {
  return {
    status: 200,
    contentType: 'application/json',
    headers: versionHeaders(version),
    body: stringifyJson(count),
  };
}

async function counted(
  { reader, heavy }: TableReads,
  snapshot: VisibleSnapshot,
  predicate: string | null,
  statement: Statement,
): Promise<bigint> {
  // Nothing is read.
  if (predicate === null) return countRows(reader, snapshot, predicate);
  const formula = predicateOf(snapshot, predicate, statement);
  if (heavy?.isHeavyCount(snapshot, formula) === true) {
    return heavy.count(predicate, snapshot, statement);
  }
  return countRowsWhere(attended(reader, whenMuchIsRead(statement.signal)), snapshot, formula);
}
