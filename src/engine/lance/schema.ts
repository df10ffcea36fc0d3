import { Binary, Field, type DataType } from 'apache-arrow';
import { ArrowError } from '../../arrow/errors.ts';
import type { JsonField, JsonType } from '../../arrow/json-schema.ts';
import { typeFromJson } from '../../arrow/json-type.ts';
import { DamagedMessage } from './message.ts';

/** A field as a manifest lists it: all fields of all levels in one list. */
export interface LanceField {
  readonly name: string;
  readonly id: number;
  /** The id of the field that it lies in; -1 for a column. */
  readonly parent: number;
  /** The logical type: `int32`, `fixed_size_list:float:128`, `list.struct`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** No table nests deeper; one whose fields lie in themselves would without end. */
const DEEPEST = 64;
const COLUMN = -1;

/**
 * The columns of a Lance table. A type that this service does not know is shown
 * as `binary`.
 * @throws DamagedMessage for fields that lie in themselves.
 */
export function arrowFields(fields: readonly LanceField[]): readonly Field[] {
  const inner = new Map<number, LanceField[]>();
  for (const field of fields) {
    const siblings = inner.get(field.parent);
    if (siblings === undefined) inner.set(field.parent, [field]);
    else siblings.push(field);
  }
  const jsonOf = (field: LanceField, depth: number): JsonField => {
    if (depth > DEEPEST) throw new DamagedMessage('the fields nest too deep');
    const children = (inner.get(field.id) ?? []).map((child) => jsonOf(child, depth + 1));
    const metadata = Object.fromEntries(field.metadata);
    const { name, nullable } = field;
    return { name, nullable, metadata, type: typeOf(field.type, children, depth) };
  };
  return (inner.get(COLUMN) ?? []).map((column) => {
    const json = jsonOf(column, 1);
    return new Field(
      json.name,
      arrowType(json.type) ?? new Binary(),
      json.nullable,
      new Map(column.metadata),
    );
  });
}

const lists: ReadonlyMap<string, string> = new Map([
  ['list', 'list'],
  ['list.struct', 'list'],
  ['map', 'list'],
  ['large_list', 'large_list'],
  ['large_list.struct', 'large_list'],
  ['struct', 'struct'],
]);

/** Types that are bytes to whoever does not know them. */
const bytes: ReadonlyMap<string, string> = new Map([
  ['blob', 'large_binary'],
  ['json', 'large_binary'],
]);

const SIZED = /^(fixed_size_binary|fixed_size_list):(?:(.+):)?(\d{1,9})$/;

/** A logical type in the vocabulary of the wire, which spells types with a length in another way. */
function typeOf(type: string, children: readonly JsonField[], depth: number): JsonType {
  if (depth > DEEPEST) throw new DamagedMessage('a type nests too deep');
  const nested = lists.get(type);
  if (nested !== undefined) return { type: nested, fields: children };
  const [, sized, item, length] = SIZED.exec(type) ?? [];
  if (sized === undefined) return plainType(bytes.get(type) ?? type);
  if (item === undefined) return { type: sized, length: Number(length) };
  const inside = { name: 'item', type: typeOf(item, children, depth + 1), nullable: true };
  return { type: sized, length: Number(length), fields: [inside] };
}

function plainType(type: string): JsonType {
  return arrowType({ type }) === undefined ? { type: 'binary' } : { type };
}

/** Undefined for a type that the vocabulary does not have. */
function arrowType(type: JsonType): DataType | undefined {
  try {
    return typeFromJson(type);
  } catch (error) {
    if (error instanceof ArrowError) return undefined;
    throw error;
  }
}
