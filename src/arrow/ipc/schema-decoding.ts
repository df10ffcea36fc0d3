import { type DataType, Dictionary, Field, Int32, type Int, type Schema } from 'apache-arrow';
import { ArrowError, corrupt } from '../arrow-error.ts';
import type { FlatTable } from './flatbuffer.ts';
import { schemaOf } from '../nested-type.ts';
import { decodeInt, decodeType } from './type-decoding.ts';

/** A schema and the ids by which the bytes around it name its dictionaries. */
export interface DecodedSchema {
  readonly schema: Schema;
  /** From the id of a dictionary type in `schema` to the id in the bytes. */
  readonly dictionaryIds: ReadonlyMap<number, number>;
}

/** Maximum nesting depth of types. */
const maxDepth = 64;
/** How many fields a schema may have, nested ones included. */
const maxFields = 65_536;

interface Progress {
  readonly dictionaryIds: Map<number, number>;
  fields: number;
}

/**
 * The schema in a `Schema` table. Throws `unsupported` for a type that is not
 * kept and for big-endian data, `limit` beyond 64 levels or 65,536 fields,
 * `corrupt` for what the format does not allow.
 */
export function decodeSchemaTable(table: FlatTable): DecodedSchema {
  if (table.int16(0) !== 0) {
    throw new ArrowError('unsupported', 'The data is big-endian, which is not supported.');
  }
  const progress: Progress = { dictionaryIds: new Map(), fields: 0 };
  const fields = table.tables(1).map((field) => decodeField(field, '', 1, progress));
  const schema = schemaOf(fields, decodeMetadata(table, 2));
  return { schema, dictionaryIds: progress.dictionaryIds };
}

function decodeField(table: FlatTable, parent: string, depth: number, progress: Progress): Field {
  const name = table.string(0) ?? '';
  const path = parent === '' ? name : `${parent}.${name}`;
  progress.fields++;
  if (progress.fields > maxFields) {
    throw new ArrowError('limit', `The schema has more than ${maxFields} fields.`);
  }
  if (depth > maxDepth) {
    throw new ArrowError('limit', `Column "${path}" nests deeper than ${maxDepth} levels.`);
  }
  const children = table.tables(5).map((child) => decodeField(child, path, depth + 1, progress));
  const values = decodeType(table.uint8(2), table.table(3), children, path);
  const encoding = table.table(4);
  const type = encoding === undefined ? values : decodeDictionary(encoding, values, path, progress);
  return new Field(name, type, table.bool(1), decodeMetadata(table, 6));
}

function decodeDictionary(
  encoding: FlatTable,
  values: DataType,
  name: string,
  progress: Progress,
): Dictionary {
  const index = encoding.table(1);
  const indices: Int = index === undefined ? new Int32() : decodeInt({ table: index, name });
  if (indices.bitWidth === 64) {
    const type = 'a dictionary with 64-bit indices';
    throw new ArrowError(
      'unsupported',
      `Column "${name}" has the type ${type}, which is not supported.`,
    );
  }
  // A new id: those of the bytes are only unique within their stream.
  const type = new Dictionary(values, dictionaryKey(indices), null, encoding.bool(2));
  progress.dictionaryIds.set(type.id, encoding.int64(0));
  return type;
}

function dictionaryKey(indices: Int): Dictionary['indices'] {
  return indices as Dictionary['indices'];
}

/** The key-value metadata in a slot of a table. */
function decodeMetadata(table: FlatTable, slot: number): Map<string, string> {
  const metadata = new Map<string, string>();
  for (const entry of table.tables(slot)) {
    const key = entry.string(0);
    if (key === undefined) throw corrupt('The metadata of a schema has an entry without a key.');
    metadata.set(key, entry.string(1) ?? '');
  }
  return metadata;
}
