import {
  DataType,
  type Field,
  type RecordBatch,
  type Vector,
  Vector as VectorClass,
} from 'apache-arrow';
import { childrenOf, withChildren } from '../../../arrow/nested-type.ts';
import { retype } from '../../../arrow/nullability.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Fields } from '../../base/fields.ts';
import type { Handler } from '../call/handler.ts';
import type { Contents } from '../../format/change.ts';
import { fieldPlace, type FieldPlace } from '../../format/field-place.ts';
import { changeInside } from '../../format/nested-change.ts';
import { tableColumns, withColumns, type TableColumn } from '../../format/table-columns.ts';
import {
  commitSchemaChange,
  versionAnswer,
  type ChangeBase,
  type SchemaParts,
} from './schema-change.ts';
import { itemAt } from '../../base/items.ts';
import { columnData } from '../../../arrow/data.ts';

/**
 * AlterTableDropColumns. The values of whole columns stay where they are, for the versions
 * before; of a column that loses fields inside it the others are rewritten.
 */
export function dropColumns(parts: SchemaParts): Handler {
  return async (call) => {
    const names = droppedColumns(call.body);
    const change = (on: ChangeBase) => without(on, names);
    return commitSchemaChange(parts, call, change, (made) =>
      versionAnswer(call, 'drop_columns', made),
    );
  };
}

/** The field `columns`. @throws CatalogError InvalidInput. */
export function droppedColumns({ columns: value }: Fields): readonly string[] {
  const names = Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
  if (names.length > 0) return names;
  throw new CatalogError('InvalidInput', 'columns must name at least one column');
}

/** A column that loses nested fields. */
interface Trimmed {
  readonly position: number;
  readonly column: TableColumn;
  /** Last field first, so that positions stay valid. */
  readonly dropped: readonly FieldPlace[];
}

async function without(on: ChangeBase, names: readonly string[]): Promise<Contents> {
  const { base, snapshot, writer } = on;
  const places = names.map((name) => fieldPlace(name, base.schema));
  checkPlaces(places);
  const whole = new Set(
    places.filter(({ positions }) => positions.length === 1).map(({ positions }) => positions[0]),
  );
  if (whole.size === base.schema.fields.length) {
    throw new CatalogError('InvalidInput', 'a table must keep at least one column');
  }
  const trimmed = trimmedColumns(base, places);
  const fresh = new Map(trimmed.map((each) => [each.position, each.column]));
  const columns = tableColumns(base)
    .map((column, position) => fresh.get(position) ?? column)
    .filter((_, position) => !whole.has(position));
  if (trimmed.length === 0) return withColumns(base, columns);
  const fragments = await writer.extended(snapshot, {
    fields: trimmed.map(({ column }) => column.field),
    ids: trimmed.map(({ column }) => column.id),
    reads: trimmed.map(({ position }) => itemAt(base.schema.fields, position).name),
    values: (rows) => trimmed.map((each) => trimmedValues(rows, base, each)),
  });
  return withColumns({ ...base, fragments }, columns);
}

function checkPlaces(places: readonly FieldPlace[]): void {
  const keyed = places.map(({ text, positions }) => ({ text, key: `${positions.join('.')}.` }));
  for (const one of keyed) {
    const outer = keyed.find((other) => other !== one && one.key.startsWith(other.key));
    if (outer === undefined) continue;
    throw new CatalogError(
      'InvalidInput',
      outer.key === one.key
        ? `columns names ${JSON.stringify(one.text)} twice`
        : `columns names ${JSON.stringify(one.text)} beside ${JSON.stringify(outer.text)}, in which it lies`,
    );
  }
}

function trimmedColumns(base: Contents, places: readonly FieldPlace[]): readonly Trimmed[] {
  const inner = places.filter(({ positions }) => positions.length > 1);
  const positions = [...new Set(inner.map((place) => place.positions[0]))];
  return positions.map((position, at) => {
    const dropped = inner
      .filter((place) => place.positions[0] === position)
      .toSorted((left, right) => compare(right.positions, left.positions));
    const fields = dropped.reduce<readonly Field[]>(
      (fields, place) => withoutField(fields, [0, ...place.positions.slice(1)], place.text),
      [itemAt(base.schema.fields, position)],
    );
    return { position, column: { field: itemAt(fields, 0), id: base.nextFieldId + at }, dropped };
  });
}

function compare(left: readonly number[], right: readonly number[]): number {
  for (const [at, position] of left.entries()) {
    if (position !== right[at]) return position - (right[at] ?? -1);
  }
  return left.length - right.length;
}

/** Removes a nested field from its struct, at any depth. */
function withoutField(
  fields: readonly Field[],
  [position, ...inner]: readonly number[],
  path: string,
): readonly Field[] {
  if (inner.length === 0) return fields.filter((_, at) => at !== position);
  return fields.map((field, at) => {
    if (at !== position) return field;
    const children = childrenOf(field.type);
    if (inner.length === 1 && (children.length === 1 || !isStruct(field))) {
      throw new CatalogError(
        'InvalidInput',
        `${JSON.stringify(path)} cannot be dropped: what holds it must keep at least one field`,
      );
    }
    return field.clone({ type: withChildren(field.type, withoutField(children, inner, path)) });
  });
}

function isStruct({ type }: Field): boolean {
  return DataType.isStruct(type);
}

function trimmedValues(
  rows: RecordBatch,
  { schema }: Contents,
  { position, column, dropped }: Trimmed,
): Vector {
  const values = rows.getChild(itemAt(schema.fields, position).name);
  if (values === null) throw new Error('the column was not read');
  const data = dropped.reduce(
    (left, { positions }) => changeInside(left, positions.slice(1), () => null),
    columnData(values),
  );
  return new VectorClass([retype(data, column.field.type)]);
}
