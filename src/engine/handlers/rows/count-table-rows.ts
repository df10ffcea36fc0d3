import { columnsNamed, namesClock } from '../../../sql/normal-text.ts';
import type { Restrictions } from '../../../protocol/restrictions.ts';
import type { Handler } from '../call/handler.ts';
import { attended, whenMuchIsRead } from '../../query/scan/attended.ts';
import { countRowsWhere, predicateOf } from '../../query/rows/count.ts';
import { statementOf, type Formula, type Statement } from '../../base/statement.ts';
import { textField } from '../../base/fields.ts';
import { unrestricted } from '../../query/restrict/visible-rows.ts';
import type { VisibleSnapshot } from '../../query/scan/visible-snapshot.ts';
import { countAnswer, countOfRows, readOfCount } from '../../virtual/row-answers.ts';
import { restOn } from '../call/answers.ts';
import { inLibrary, libraryTable } from './library-reads.ts';
import {
  findEngineTable,
  findVisibleRows,
  rememberedTable,
  requestedTable,
  type TableReads,
} from './table-reads.ts';

/** CountTableRows: the number alone, of any size. */
export function countTableRows(reads: TableReads): Handler {
  return async (call) => {
    const predicate = textField(call.body, 'predicate');
    const known = rememberedTable(reads, call);
    const table = known?.table ?? (await requestedTable(reads, call));
    const restrictions = call.permit.restrictionsOn(call.request.object);
    if (restrictions !== null) {
      const isLasting = predicate === null && !namesClockIn(restrictions);
      const asked = isLasting ? call : { ...call, reportBasis: undefined };
      const rows = await findVisibleRows(reads, asked, table, restrictions);
      return countOfRows(rows, predicate, call, reads.heavy);
    }
    const library = inLibrary(reads.lance, table);
    if (library !== undefined) {
      const place = await libraryTable(reads, call, table, call.body);
      const count = await library.count(place, predicate, statementOf(call));
      const { names } = place.columns;
      const columns = predicate === null ? [] : columnsNamed(predicate, names);
      return countAnswer(count, { columns, version: place.at.version, filter: predicate });
    }
    const { snapshot, chain, record } = known ?? (await findEngineTable(reads, call, table));
    // A predicate may depend on the time.
    if (predicate === null) restOn(call, table, chain, record);
    const whole = unrestricted(snapshot, restrictions);
    const statement = statementOf(call);
    const formula = predicate === null ? null : predicateOf(whole, predicate, statement);
    const count = await counted(reads, whole, formula, statement);
    return countAnswer(count, readOfCount(whole, formula));
  };
}

/** Whether the rows that are visible may depend on the time. */
function namesClockIn({ rows }: Restrictions): boolean {
  return rows.some(({ sql }) => namesClock(sql));
}

async function counted(
  { reader, heavy }: TableReads,
  snapshot: VisibleSnapshot,
  formula: Formula | null,
  statement: Statement,
): Promise<bigint> {
  // Nothing is read.
  if (formula === null) return snapshot.rows;
  if (heavy?.isHeavyCount(snapshot, formula) === true) {
    return heavy.count(formula.text, snapshot, statement);
  }
  return countRowsWhere(attended(reader, whenMuchIsRead(statement.signal)), snapshot, formula);
}
