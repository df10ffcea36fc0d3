import { restrictionReasons } from '../../../protocol/restriction-reasons.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import { jsonAnswer } from '../call/answers.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Update } from '../../change/assignment.ts';
import { deleteRows, type DerivedOutcome } from '../../change/derived-commit.ts';
import { updateRows, updateVisibleRows } from '../../change/update-rows.ts';
import type { Call, Handler } from '../call/handler.ts';
import { statementOf } from '../../base/statement.ts';
import { textField, type Fields } from '../../base/fields.ts';
import { boundedProperties, propertiesField } from '../call/parameters.ts';
import { changeTable, type TableChanges } from './change-table.ts';
import { visibleChange } from './restricted-changes.ts';
import { changeSummary } from '../../once/commit-summary.ts';

/** How the caller of a request changes its table, if restrictions bind the caller. */
async function changeOf(parts: TableChanges, call: Call, kind: 'update' | 'delete') {
  if (call.permit.restrictionsOn(call.request.object) === null) return undefined;
  const { content } = await parts.catalog.requireTable(call.request.object);
  return visibleChange(parts, call, content, kind);
}

type Properties = Readonly<Record<string, string>>;

/**
 * UpdateTable: new values for columns of the rows of which the predicate is true,
 * of all rows without one. The count is answered under the names of both dialects.
 * Properties are set on the table beside those that it has, by the same commit.
 */
export function updateTable(parts: TableChanges): Handler {
  return async (call) => {
    const request = {
      updates: updatesField(call.body),
      predicate: textField(call.body, 'predicate'),
    };
    const columns = [...new Set(request.updates.map(([column]) => column))];
    const change = await changeOf(parts, call, 'update');
    const derive =
      change === undefined
        ? updateRows(parts.reader, request, statementOf(call))
        : updateVisibleRows(parts.reader, request, statementOf(call), change);
    const rows = (changed: bigint) => ({ added: 0n, removed: 0n, changed });
    const requested = propertiesField(call);
    let properties: Properties | undefined;
    const writes = ({ key, content }: Stored<TableRecord>) => {
      properties = boundedProperties({ ...content.properties, ...requested });
      return [{ key, value: encodeTable({ ...content, properties }) }];
    };
    const answer = ({ committed, result }: DerivedOutcome<bigint>) =>
      jsonAnswer(
        call,
        {
          rows_updated: result,
          updated_rows: result,
          version: committed.manifest.version,
          properties,
        },
        { commit: changeSummary('update', committed, rows(result), columns) },
      );
    const hasProperties = Object.keys(requested).length > 0;
    if (hasProperties && change !== undefined) {
      throw change.refusal(restrictionReasons.properties());
    }
    const judged = { action: 'update', rows } as const;
    return changeTable(parts, call, derive, answer, judged, hasProperties ? writes : undefined);
  };
}

/** The columns to update with the SQL of their new values. @throws CatalogError InvalidInput. */
export function updatesField(body: Fields): readonly Update[] {
  const updates = body['updates'];
  if (!Array.isArray(updates) || updates.length === 0) {
    throw new CatalogError('InvalidInput', 'updates must name at least one column');
  }
  return updates.map(updateOf);
}

function updateOf(value: JsonValue): Update {
  const [column, expression, ...rest] = Array.isArray(value) ? value : [];
  if (typeof column === 'string' && typeof expression === 'string' && rest.length === 0) {
    return [column, expression];
  }
  throw new CatalogError(
    'InvalidInput',
    'each of updates must be a column and the SQL of its new value',
  );
}

/** The predicate of the rows to delete. @throws CatalogError InvalidInput. */
export function deletePredicate(body: Fields): string {
  const predicate = textField(body, 'predicate') ?? '';
  if (predicate.trim() !== '') return predicate;
  throw new CatalogError('InvalidInput', 'predicate must say which rows to delete');
}

/** DeleteFromTable: the rows of which the predicate is true. It makes a version also when there are none. */
export function deleteFromTable(parts: TableChanges): Handler {
  return async (call) => {
    const predicate = deletePredicate(call.body);
    const change = await changeOf(parts, call, 'delete');
    const derive = deleteRows(parts.reader, predicate, statementOf(call), change);
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
