import { CatalogError } from '../../protocol/errors.ts';
import { jsonAnswer } from '../answers.ts';
import { deleteRows } from '../change/delete-rows.ts';
import type { Handler } from '../handler.ts';
import { statementOf } from '../query/statement.ts';
import { textField } from '../query/fields.ts';
import { changeTable, type TableChanges } from './change-table.ts';
import { changeSummary } from './commit-summary.ts';

/** DeleteFromTable: the rows of which the predicate is true. It makes a version also when there are none. */
export function deleteFromTable(parts: TableChanges): Handler {
  return async (call) => {
    const predicate = textField(call.body, 'predicate') ?? '';
    if (predicate.trim() === '') {
      throw new CatalogError('InvalidInput', 'predicate must say which rows to delete');
    }
    const derive = deleteRows(parts.reader, predicate, statementOf(call));
    const rows = (removed: bigint) => ({ added: 0n, removed, changed: 0n });
    return changeTable(
      parts,
      call,
      derive,
      ({ committed, result }) =>
        jsonAnswer(
          call,
          { num_deleted_rows: result, version: committed.manifest.version },
          { commit: changeSummary('delete', committed, rows(result)) },
        ),
      { action: 'delete', rows },
    );
  };
}
