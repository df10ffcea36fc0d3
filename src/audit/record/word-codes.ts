import { DataType, type Data, type Vector } from 'apache-arrow';
import { isNull } from '../../arrow/data.ts';

/** Marks rows of a column with 1; undefined if it marks none. */
export type RowMarks = (data: Data) => Uint8Array | undefined;

/** Marks rows with a word that passes a test. A word is tested once, rows are compared by its code. The column holds words or lists of words. */
export function wordsWhere(codes: CodeTest): RowMarks {
  return (data) => (DataType.isList(data.type) ? marksOfLists(data, codes) : marksOf(data, codes));
}

/** Marks the words of a dictionary that pass a test; undefined if none does. */
export type CodeTest = (dictionary: Vector) => Uint8Array | undefined;

/** Test for one word, which compares bytes. */
export function wordEquals(word: string): CodeTest {
  const wanted = Buffer.from(word);
  return cachedByDictionary((dictionary) =>
    marked(dictionary, (bytes) => bytes.length === wanted.length && wanted.equals(bytes)),
  );
}

/** Test for words by a function. */
export function wordMatches(test: (word: string) => boolean): CodeTest {
  return cachedByDictionary((dictionary) => marked(dictionary, (bytes) => test(bytes.toString())));
}

/** Test for words that contain a text, which compares bytes. */
export function wordContains(text: Buffer): CodeTest {
  return cachedByDictionary((dictionary) => marked(dictionary, (bytes) => bytes.includes(text)));
}

/** Caches the result for each dictionary, which the batches of a file share. */
function cachedByDictionary(test: CodeTest): CodeTest {
  const cached = new WeakMap<Vector, { readonly codes: Uint8Array | undefined }>();
  return (dictionary) => {
    const before = cached.get(dictionary);
    if (before !== undefined) return before.codes;
    const codes = test(dictionary);
    cached.set(dictionary, { codes });
    return codes;
  };
}

function marked(dictionary: Vector, test: (bytes: Buffer) => boolean): Uint8Array | undefined {
  const codes = new Uint8Array(dictionary.length);
  let [code, some] = [0, false];
  for (const { values, valueOffsets, length } of dictionary.data) {
    const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    for (let row = 0; row < length; row++, code++) {
      if (!test(bytes.subarray(valueOffsets[row], valueOffsets[row + 1]))) continue;
      codes[code] = 1;
      some = true;
    }
  }
  return some ? codes : undefined;
}

function marksOf(data: Data, test: CodeTest): Uint8Array | undefined {
  const codes = data.dictionary && test(data.dictionary);
  if (codes === undefined) return undefined;
  const indices: Int32Array = data.values;
  const marks = new Uint8Array(data.length);
  for (let row = 0; row < marks.length; row++) marks[row] = codes[indices[row]!]!;
  if (data.nullCount > 0) {
    for (let row = 0; row < marks.length; row++) {
      if (marks[row] === 1 && isNull(data, row)) marks[row] = 0;
    }
  }
  return marks;
}

function marksOfLists(data: Data, test: CodeTest): Uint8Array | undefined {
  const items = marksOf(data.children[0]!, test);
  if (items === undefined) return undefined;
  const marks = new Uint8Array(data.length);
  for (let row = 0; row < marks.length; row++) {
    const [start, end] = [data.valueOffsets[row]!, data.valueOffsets[row + 1]!];
    if (items.subarray(start, end).includes(1)) marks[row] = 1;
  }
  return marks;
}
