import { Binary, Field, type DataType } from 'apache-arrow';
import { ArrowError } from '../../../arrow/arrow-error.ts';
import type { JsonField, JsonType } from '../../../arrow/json-schema.ts';
import { typeFromJson } from '../../../arrow/json-type.ts';
import type { LanceField } from './lance-manifest.ts';
import { LanceManifestError } from './lance-message.ts';

/** Limit of nesting, which fields that contain themselves would exceed. */
const DEEPEST = 64;
/** Parent id of columns. */
const TABLE = -1;

/**
 * The columns of a Lance table. A type that this service does not know is shown
 * as `binary`.
 * @throws LanceManifestError for fields that lie in themselves.
 */
export function arrowFields(fields: readonly LanceField[]): readonly Field[] {
  const inner = new Map<number, LanceField[]>();
  for (const field of fields) {
    const parent = Math.max(field.parent, TABLE);
    const siblings = inner.get(parent);
    if (siblings === undefined) inner.set(parent, [field]);
    else siblings.push(field);
  }
  const seen = new Set<LanceField>();
  const jsonOf = (field: LanceField, depth: number): JsonField => {
    if (depth > DEEPEST) throw new LanceManifestError('the fields nest too deep');
    // Fields that share an id would contain each other without end.
    if (seen.has(field)) throw new LanceManifestError('a field lies in several others');
    seen.add(field);
    const children = (inner.get(field.id) ?? []).map((child) => jsonOf(child, depth + 1));
    const metadata = Object.fromEntries(field.metadata);
    const { name, nullable } = field;
    return { name, nullable, metadata, type: typeOf(field.type, children, depth) };
  };
  return (inner.get(TABLE) ?? []).map((column) => {
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

/** Types that are shown as bytes. */
const bytes: ReadonlyMap<string, string> = new Map([
  ['blob', 'large_binary'],
  ['json', 'large_binary'],
]);

const SIZED = /^(fixed_size_binary|fixed_size_list):(?:(.+):)?(\d{1,9})$/;

/**
 * Translates a logical type into the protocol's vocabulary, which spells types with a length
 * differently.
 */
function typeOf(type: string, children: readonly JsonField[], depth: number): JsonType {
  if (depth > DEEPEST) throw new LanceManifestError('a type nests too deep');
  const nested = lists.get(type);
  if (nested !== undefined) return { type: nested, fields: children };
  const [, sized, item, length] = SIZED.exec(type) ?? [];
  if (sized === undefined) return plainType(bytes.get(type) ?? type);
  if (item === undefined) return { type: sized, length: Number(length) };
  const inside = { name: 'item', type: typeOf(item, children, depth + 1), nullable: true };
  return { type: sized, length: Number(length), fields: [inside] };
}

/** `time:us` is an older name of what the vocabulary calls `time64:us`. */
const older: ReadonlyMap<string, string> = new Map([
  ['time:s', 'time32:s'],
  ['time:ms', 'time32:ms'],
  ['time:us', 'time64:us'],
  ['time:ns', 'time64:ns'],
]);

function plainType(name: string): JsonType {
  const type = older.get(name) ?? name;
  return arrowType({ type }) === undefined ? { type: 'binary' } : { type };
}

/** Undefined for a type without a name in the vocabulary. */
function arrowType(type: JsonType): DataType | undefined {
  try {
    return typeFromJson(type);
  } catch (error) {
    if (error instanceof ArrowError) return undefined;
    throw error;
  }
}
