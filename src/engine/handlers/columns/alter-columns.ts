import {
  Vector as VectorClass,
  type Data,
  type DataType,
  type Field,
  type RecordBatch,
  type Vector,
} from 'apache-arrow';
import { retype } from '../../../arrow/nullability.ts';
import { sameType, typeName } from '../../../arrow/types.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Handler } from '../call/handler.ts';
import type { Contents } from '../../format/change.ts';
import { changedAt, fieldAt, fieldPlace, type FieldPlace } from '../../format/field-place.ts';
import { checkColumnName } from '../../format/incoming.ts';
import { changeInside } from '../../format/nested-change.ts';
import { withColumns, type TableColumn } from '../../format/table-columns.ts';
import { alterationsField, type Alteration } from './type-field.ts';
import {
  refuseNulls,
  commitSchemaChange,
  versionAnswer,
  type ChangeBase,
  type SchemaParts,
} from './schema-change.ts';
import { castsExactly, exactCast } from '../../../sql/cast/exact-cast.ts';
import { itemAt } from '../../base/items.ts';
import { columnData } from '../../../arrow/data.ts';

/** An alteration and its field. */
interface Altered extends Alteration {
  readonly place: FieldPlace;
}

/** A column whose type changes, as a whole or in nested fields. */
interface Cast {
  readonly position: number;
  readonly field: Field;
  readonly id: number;
  readonly changes: readonly Altered[];
}

/**
 * AlterTableAlterColumns, all alterations in one version. Paths mean the columns
 * as they were before. Only a cast writes values: those of its column, which
 * gets another id, so that older versions keep reading what they had.
 */
export function alterColumns(parts: SchemaParts): Handler {
  return async (call) => {
    const alterations = alterationsField(call.body);
    const change = (on: ChangeBase) => altered(on, alterations);
    return commitSchemaChange(parts, call, change, (made) =>
      versionAnswer(call, 'alter_columns', made),
    );
  };
}

async function altered(on: ChangeBase, alterations: readonly Alteration[]): Promise<Contents> {
  const { base, snapshot, writer } = on;
  const all = alterations.map((one) => ({ ...one, place: fieldPlace(one.path, base.schema) }));
  refuseTwice(all);
  for (const { place, rename } of all) {
    if (rename !== null && place.positions.length === 1) checkColumnName(rename);
  }
  const fields = all.reduce(alteredFields, base.schema.fields);
  const casts = castsOf(base, all, fields);
  const columns = fields.map((field, position): TableColumn => {
    const cast = casts.find((one) => one.position === position);
    return { field, id: cast?.id ?? itemAt(base.fieldIds, position) };
  });
  withColumns(base, columns);
  for (const one of all) {
    if (one.nullable === false && fieldAt(one.place).nullable) await refuseNulls(on, one.place);
  }
  if (casts.length === 0) return withColumns(base, columns);
  const nameOf = ({ position }: Cast) => itemAt(base.schema.fields, position).name;
  const fragments = await writer.extended(snapshot, {
    fields: casts.map(({ field }) => field),
    ids: casts.map(({ id }) => id),
    reads: casts.map(nameOf),
    values: (rows) => casts.map((cast) => castValues(rows, nameOf(cast), cast)),
  });
  return withColumns({ ...base, fragments }, columns);
}

function refuseTwice(all: readonly Altered[]): void {
  const seen = new Set<string>();
  for (const { path, place } of all) {
    const key = place.positions.join('.');
    if (seen.has(key)) {
      throw new CatalogError('InvalidInput', `the column ${JSON.stringify(path)} is altered twice`);
    }
    seen.add(key);
  }
  for (const { path, place, type } of all) {
    const key = `${place.positions.join('.')}.`;
    if (type !== null && [...seen].some((other) => other.startsWith(key))) {
      throw new CatalogError(
        'InvalidInput',
        `the column ${JSON.stringify(path)} gets another type and so does not keep the fields inside it that are altered`,
      );
    }
  }
}

function alteredFields(fields: readonly Field[], one: Altered): readonly Field[] {
  const { place, rename, nullable, type } = one;
  return changedAt(fields, place.positions, (field) =>
    field.clone({
      name: rename ?? field.name,
      nullable: nullable ?? field.nullable,
      type: type === null || sameType(field.type, type) ? field.type : castType(one, field),
    }),
  );
}

function castType({ path, type }: Altered, field: Field): Field['type'] {
  if (type === null) return field.type;
  if (canCastColumn(field.type, type)) return type;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column ${JSON.stringify(path)} of type ${typeName(field.type)} cannot become ${typeName(type)}`,
  );
}

function castsOf(
  base: Contents,
  all: readonly Altered[],
  fields: readonly Field[],
): readonly Cast[] {
  const changes = all.filter(
    ({ type, place }) => type !== null && !sameType(fieldAt(place).type, type),
  );
  const positions = [...new Set(changes.map(({ place }) => place.positions[0]))];
  return positions.map((position, at) => ({
    position,
    field: itemAt(fields, position),
    id: base.nextFieldId + at,
    changes: changes.filter(({ place }) => place.positions[0] === position),
  }));
}

function castValues(rows: RecordBatch, name: string, { field, changes }: Cast): Vector {
  const column = rows.getChild(name);
  if (column === null) throw new Error(`the column ${name} was not read`);
  const data = changes.reduce((values, change) => castInside(values, change), columnData(column));
  return new VectorClass([retype(data, field.type)]);
}

function castInside(column: Data, { place, path, type }: Altered): Data {
  const [, ...inner] = place.positions;
  const cast = (values: Data): Data => castOne(values, path, type ?? values.type);
  return inner.length === 0 ? cast(column) : changeInside(column, inner, cast);
}

function castOne(values: Data, path: string, type: DataType): Data {
  const cast = castColumn(values, type);
  if (cast.kind === 'column') return cast.data;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column ${JSON.stringify(path)} cannot become ${typeName(type)}: the value ${cast.value} would be lost`,
  );
}

/** A converted column, or the first value that the type cannot hold, as text. */
type CastColumn =
  | { readonly kind: 'column'; readonly data: Data }
  | { readonly kind: 'lost'; readonly value: string };

/**
 * Whether a column type can be converted into another: single values, and lists and structs of
 * them.
 */
function canCastColumn(from: DataType, to: DataType): boolean {
  return sameType(from, to) || castsExactly(from, to);
}

/**
 * Converts a column to another type, after `canCastColumn`. Values change only by the rounding of
 * floats.
 */
function castColumn(data: Data, to: DataType): CastColumn {
  if (sameType(data.type, to)) return { kind: 'column', data: retype(data, to) };
  const cast = exactCast(data, to);
  return cast.kind === 'lost' ? cast : { kind: 'column', data: cast.data };
}
