import { DataType, type Data } from 'apache-arrow';
import { isNull } from '../../arrow/data.ts';
import { recordFields } from '../record/columns.ts';
import { wordContains, wordsWhere, type CodeTest } from '../record/word-codes.ts';

/** Marks rows that may have a text; all other rows do not have it. */
interface TextTest {
  readonly columns: readonly string[];
  readonly marks: (columns: readonly Data[], rows: number) => Uint8Array;
}

/** Half of a surrogate pair, which has no bytes in UTF-8. */
const HALF = /\p{Surrogate}/u;
const HEXADECIMAL = /^[0-9a-f]+$/;

/**
 * A test of the bytes of all columns of text, which reads no value. Undefined for a text that cannot be compared by
 * its bytes.
 */
export function textTest(text: string): TextTest | undefined {
  if (text === '' || HALF.test(text)) return undefined;
  const columns = recordFields
    .filter(({ type, name }) => holdsText(type) && (name !== 'hash' || HEXADECIMAL.test(text)))
    .map(({ name }) => name);
  const search = new TextSearch(text);
  return {
    columns,
    marks: (found, rows) => {
      const marks = new Uint8Array(rows);
      for (const data of found) search.mark(data, marks);
      return marks;
    },
  };
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isDictionary(type);
}

function holdsText(type: DataType): boolean {
  if (isText(type)) return true;
  const parts = DataType.isList(type) || DataType.isStruct(type) ? type.children : [];
  return parts.some((part) => holdsText(part.type));
}

class TextSearch {
  readonly #text: string;
  readonly #bytes: Buffer;
  readonly #codes: CodeTest;

  constructor(text: string) {
    this.#text = text;
    this.#bytes = Buffer.from(text);
    this.#codes = wordContains(this.#bytes);
  }

  /** Marks the rows of a column that may contain the text. */
  mark(data: Data, marks: Uint8Array): void {
    const { type } = data;
    if (DataType.isDictionary(type)) markAll(wordsWhere(this.#codes)(data), marks);
    else if (DataType.isUtf8(type)) this.#markTexts(data, marks);
    else if (DataType.isList(type)) this.#markLists(data, marks);
    else if (DataType.isStruct(type)) this.#markParts(data, marks);
  }

  #markTexts({ values, valueOffsets, length }: Data, marks: Uint8Array): void {
    const [start, end]: readonly number[] = [valueOffsets[0]!, valueOffsets[length]!];
    const bytes = Buffer.from(values.buffer, values.byteOffset + start!, end! - start!);
    for (let at = bytes.indexOf(this.#bytes); at >= 0;) {
      const row = rowAt(valueOffsets, length, at + start!);
      const next: number = valueOffsets[row + 1]! - start!;
      const isWithin = at + this.#bytes.length <= next;
      if (isWithin) marks[row] = 1;
      at = bytes.indexOf(this.#bytes, isWithin ? next : at + 1);
    }
  }

  #markLists(data: Data, marks: Uint8Array): void {
    const [items] = data.children as [Data];
    if (items.length === 0) return;
    const found = new Uint8Array(items.length);
    this.mark(items, found);
    const valueOffsets: Int32Array = data.valueOffsets;
    for (let at = found.indexOf(1); at >= 0;) {
      const row = rowAt(valueOffsets, data.length, at);
      marks[row] = 1;
      at = found.indexOf(1, Math.max(at + 1, valueOffsets[row + 1]!));
    }
  }

  /** The names of fields inside of a field are searched as well, where they have a text. */
  #markParts(data: Data, marks: Uint8Array): void {
    const parts: DataType['children'] = data.type.children;
    const isNamed = parts.some(({ name, type }) => isText(type) && name.includes(this.#text));
    if (!isNamed) {
      for (const part of data.children) this.mark(part, marks);
      return;
    }
    for (let row = 0; row < marks.length; row++) if (!isNull(data, row)) marks[row] = 1;
  }
}

function markAll(found: Uint8Array | undefined, marks: Uint8Array): void {
  if (found === undefined) return;
  for (let row = found.indexOf(1); row >= 0; row = found.indexOf(1, row + 1)) marks[row] = 1;
}

/** The row whose value holds a position: the last one that begins at it or before it. */
function rowAt(offsets: Int32Array, rows: number, position: number): number {
  let [low, high] = [0, rows - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle]! <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
