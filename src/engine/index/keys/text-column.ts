import { DataType, Vector, type Data } from 'apache-arrow';
import { isNull, childData } from '../../../arrow/data.ts';
import { textBytes, type TextBytes } from '../../base/text-bytes.ts';

/** The texts of a row: one, or those of a list; null for a row without a searchable text. */
export type RowTexts = readonly string[] | null;

/** Whether a column type can be searched: texts or lists of texts. */
export function isTextColumn(type: DataType): boolean {
  return isText(type) || (DataType.isList(type) && isText(type.valueType));
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
}

/** Reads the texts of a column row by row. */
export function textsOf(data: Data): (row: number) => RowTexts {
  if (DataType.isList(data.type)) return listTexts(data);
  const text = textReader(data);
  return (row) => {
    const value = text(row);
    return value === null ? null : [value];
  };
}

/** UTF-8 of texts: the text of a row is between its offset and the next one. */
export interface Utf8Texts {
  readonly text: TextBytes;
  readonly offsets: Int32Array | BigInt64Array;
  isNull(row: number): boolean;
}

/** The bytes of a column of texts; null where its texts do not lie one behind the other. */
export function utf8TextsOf(data: Data): Utf8Texts | null {
  if (!DataType.isUtf8(data.type) && !DataType.isLargeUtf8(data.type)) return null;
  const { values, valueOffsets: offsets } = data;
  return { text: textBytes(values), offsets, isNull: (row) => isNull(data, row) };
}

/** Null items are not texts; an empty list is a text without words. */
function listTexts(data: Data): (row: number) => RowTexts {
  const offsets: Int32Array = data.valueOffsets;
  const text = textReader(childData(data));
  return (row) => {
    if (isNull(data, row)) return null;
    const texts: string[] = [];
    for (let at = offsets[row]!; at < offsets[row + 1]!; at++) {
      const value = text(at);
      if (value !== null) texts.push(value);
    }
    return texts;
  };
}

function textReader(data: Data): (row: number) => string | null {
  if (!DataType.isUtf8(data.type) && !DataType.isLargeUtf8(data.type)) {
    const vector = new Vector([data]);
    return (row) => vector.get(row) as string | null;
  }
  const { values, valueOffsets: offsets } = data;
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return (row) =>
    isNull(data, row)
      ? null
      : bytes.toString('utf8', Number(offsets[row]), Number(offsets[row + 1]));
}
