import { DataType, type Field } from 'apache-arrow';
import { typeName } from '../../../arrow/types.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { IndexType } from '../../format/snapshot.ts';
import { isTextColumn } from './text-column.ts';

const built: Readonly<Record<string, IndexType>> = {
  BTREE: 'BTREE',
  BITMAP: 'BITMAP',
  LABELLIST: 'LABEL_LIST',
  FTS: 'FTS',
  INVERTED: 'FTS',
};

/** Kinds of the protocol that are not supported, with their purpose. */
const planned: Readonly<Record<string, string>> = {
  NGRAM: 'search inside of texts',
  ZONEMAP: 'ranges of values, which are kept of every file without an index',
  BLOOMFILTER: 'single values, which BTREE finds',
};

const KNOWN = 'there are BTREE, BITMAP, LABEL_LIST, FTS and those of vectors, such as IVF_PQ';

/**
 * Parses the kind of index of a request, in any spelling.
 * @throws CatalogError Unsupported for an unsupported kind, InvalidInput for an unknown one.
 */
export function indexTypeOf(text: string): IndexType {
  const plain = text.toUpperCase().replaceAll('_', '');
  const type = Object.hasOwn(built, plain) ? built[plain] : undefined;
  if (type !== undefined) return type;
  if (plain === 'FM' || plain === 'FMINDEX') {
    throw new CatalogError(
      'Unsupported',
      `an index of type ${text} is a feature of LanceDB inside a program, which this service does not have; ${KNOWN}`,
    );
  }
  const purpose = Object.hasOwn(planned, plain) ? planned[plain] : undefined;
  if (purpose === undefined) {
    throw new CatalogError(
      'InvalidInput',
      `${JSON.stringify(text)} is not an index type; ${KNOWN}`,
    );
  }
  throw new CatalogError(
    'Unsupported',
    `an index of type ${text} is not built: it is for ${purpose}; ${KNOWN}`,
  );
}

/** Refuses a column that a kind of index does not support. @throws CatalogError InvalidInput. */
export function checkIndexable(type: IndexType, field: Field): void {
  const { name, type: column } = field;
  if (type === 'FTS') return checkText(field);
  const key = type === 'LABEL_LIST' ? itemType(column) : column;
  if (key !== undefined && keys.some((test) => test(key))) return;
  const wanted = 'integers, floats, texts, booleans, dates or timestamps';
  const of = type === 'LABEL_LIST' ? `lists of ${wanted}` : wanted;
  throw new CatalogError(
    'InvalidInput',
    `an index of type ${type} is made of ${of}, and the column ${JSON.stringify(name)} is of type ${typeName(column)}`,
  );
}

function checkText({ name, type }: Field): void {
  if (isTextColumn(type)) return;
  throw new CatalogError(
    'InvalidInput',
    `an index of type FTS is made of texts or lists of texts, and the column ${JSON.stringify(name)} is of type ${typeName(type)}`,
  );
}

/** The type of an index's keys: the column's values, or the items of its lists. */
export function keyTypeOf(type: IndexType, column: DataType): DataType {
  return type === 'LABEL_LIST' ? (itemType(column) ?? column) : column;
}

const keys: readonly ((type: DataType) => boolean)[] = [
  (type) => DataType.isInt(type) || DataType.isFloat(type) || DataType.isBool(type),
  (type) => DataType.isUtf8(type) || DataType.isLargeUtf8(type),
  (type) => DataType.isDate(type) || DataType.isTimestamp(type) || DataType.isTime(type),
];

function itemType(type: DataType): DataType | undefined {
  return DataType.isList(type) ? type.valueType : undefined;
}
