import { Field, Schema, type Data, type RecordBatch } from 'apache-arrow';
import { concatData } from '../../../arrow/concat.ts';
import { batchOfColumns } from '../../../arrow/select.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { columnDataAt, columnPath, topLevel, type ColumnPath } from '../../request/column-path.ts';
import type { Selection } from '../../request/columns-field.ts';
import { DISTANCE, QUERY_INDEX, ROW_ID, SCORE } from '../../request/computed-columns.ts';
import type { Statement, Formula } from '../../base/statement.ts';
import { bindFormula, valuesOf } from '../../request/formula.ts';

/** A column of an answer: stored, or computed by a formula. */
export type Projection =
  | { readonly kind: 'path'; readonly field: Field; readonly path: ColumnPath }
  | { readonly kind: 'formula'; readonly field: Field; readonly formula: Formula };

/** Columns in addition to the selected ones. */
export interface Extras {
  readonly distance: boolean;
  readonly score: boolean;
  readonly queryIndex: boolean;
  readonly rowId: boolean;
}

/**
 * Plans the columns of an answer: the selected ones or all; `query_index` first, `_distance` or
 * `_score` and then `_rowid` last.
 * @param fields Columns that a selection may use.
 * @throws CatalogError TableColumnNotFound; InvalidInput for a bad expression and for two columns
 * of one name.
 */
export function planProjections(
  selections: readonly Selection[] | null,
  schema: Schema,
  fields: readonly Field[],
  extras: Extras,
  statement: Statement,
): readonly Projection[] {
  const chosen =
    selections === null
      ? schema.fields.map(asItIs)
      : selections.map((selection) => selected(selection, fields, statement));
  const wanted = extraFields(extras);
  checkNotHidden(wanted, fields);
  return checkNames(withExtras(chosen, wanted));
}

/** Names of the columns that projections read. */
export function columnsRead(projections: readonly Projection[]): readonly string[] {
  const names: string[] = [];
  for (const projection of projections) {
    if (projection.kind === 'path') names.push(projection.path.column);
    else names.push(...projection.formula.columns);
  }
  return names;
}

/** Schema of an answer, with the table's metadata. */
export function projectedSchema(projections: readonly Projection[], table: Schema): Schema {
  return new Schema(
    projections.map(({ field }) => field),
    table.metadata,
  );
}

/** Computes the answer's columns of some rows. */
export function project(
  projections: readonly Projection[],
  schema: Schema,
  batch: RecordBatch,
): RecordBatch {
  const columns = projections.map((projection) => projected(projection, batch));
  return batchOfColumns(schema, columns, batch.numRows);
}

function projected(projection: Projection, batch: RecordBatch): Data {
  if (projection.kind === 'formula') {
    const data = concatData(valuesOf(projection.formula, batch).data);
    // Released by the caller after the rows are sent.
    projection.formula.statement.budget.charge(data.byteLength);
    return data;
  }
  return columnDataAt(batch, projection.path);
}

function asItIs(field: Field): Projection {
  return { kind: 'path', field, path: topLevel(field) };
}

function selected(
  selection: Selection,
  fields: readonly Field[],
  statement: Statement,
): Projection {
  const { name } = selection;
  if (selection.kind === 'expression') {
    const formula = bindFormula(`columns.${name}`, selection.text, fields, statement);
    return { kind: 'formula', field: new Field(name, formula.bound.type, true), formula };
  }
  const path = columnPath(name, fields);
  if (path.formula === null) return asItIs(path.field);
  return { kind: 'path', field: path.field.clone({ name }), path };
}

function extraFields(extras: Extras): readonly Field[] {
  const flags: readonly (readonly [boolean, Field])[] = [
    [extras.queryIndex, QUERY_INDEX],
    [extras.distance, DISTANCE],
    [extras.score, SCORE],
    [extras.rowId, ROW_ID],
  ];
  return flags.flatMap(([wanted, field]) => (wanted ? [field] : []));
}

function checkNotHidden(wanted: readonly Field[], fields: readonly Field[]): void {
  const hidden = wanted.find((field) => !fields.includes(field));
  if (hidden === undefined) return;
  throw new CatalogError(
    'InvalidInput',
    `the table has a column of its own called ${JSON.stringify(hidden.name)}, so the answer cannot have that name for another`,
  );
}

/** A selected column keeps its position, except `_rowid`, which is always last. */
function withExtras(
  chosen: readonly Projection[],
  wanted: readonly Field[],
): readonly Projection[] {
  const missing = (field: Field) =>
    wanted.includes(field) && !chosen.some((projection) => projection.field === field);
  const rowId = wanted.includes(ROW_ID) ? [asItIs(ROW_ID)] : [];
  return [
    ...[QUERY_INDEX].filter(missing).map(asItIs),
    ...chosen.filter(({ field }) => rowId.length === 0 || field !== ROW_ID),
    ...[DISTANCE, SCORE].filter(missing).map(asItIs),
    ...rowId,
  ];
}

function checkNames(projections: readonly Projection[]): readonly Projection[] {
  const seen = new Set<string>();
  for (const { field } of projections) {
    if (seen.has(field.name)) {
      throw new CatalogError(
        'InvalidInput',
        `the answer would have two columns called ${JSON.stringify(field.name)}`,
      );
    }
    seen.add(field.name);
  }
  return projections;
}
