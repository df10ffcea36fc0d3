import { DataType, type Data, type RecordBatch } from 'apache-arrow';
import { nullsIn } from '../../arrow/data.ts';
import { textReader, wordValues } from '../../arrow/value-column.ts';
import { recordAt, recordFields, recordKinds } from './columns.ts';
import { instancePrefix, principalText, readingText, recordText, quotedText } from './encoding.ts';
import { timeOf } from './time.ts';

/** Columns that are empty in the most frequent records, whose text is then the same. */
const FURTHER = ['objects', 'rights', 'context', 'shadow', 'commit'] as const;

type Texts = (row: number) => string;

/**
 * Texts of the rows of a batch, encoded again from its columns: as `recordText` of the row's
 * record, but each word and each principal is encoded once.
 */
export class RecordTexts {
  readonly #batch: RecordBatch;
  readonly #isFurther: readonly ((row: number) => boolean)[];
  readonly #fields: readonly (readonly [before: string, Texts])[];
  readonly #reading: Texts;
  readonly #instances: Texts;
  readonly #sequences: Texts;

  /** @param batch With the columns of `recordFields`. */
  constructor(batch: RecordBatch) {
    this.#batch = batch;
    this.#isFurther = FURTHER.map((name) => holdsValue(columnOf(batch, name)));
    const words = (name: string): Texts => wordTexts(columnOf(batch, name));
    const integers = (name: string): Texts => integerTexts(columnOf(batch, name));
    const texts = (name: string): Texts => {
      const read = textReader(columnOf(batch, name));
      return (row) => quotedText(read(row));
    };
    this.#fields = [
      ['"phase":', words('phase')],
      [',"time":', timeTexts(columnOf(batch, 'time'))],
      [',"duration_us":', integers('duration_us')],
      [',"request_id":', texts('request_id')],
      [',"decision_id":', texts('decision_id')],
      ['', new SharedTexts(batch).texts],
      [',"rights":[],"shadow":null,"status":', integers('status')],
      [',"code":', integers('code')],
      [',"bytes_in":', integers('bytes_in')],
      [',"bytes_out":', integers('bytes_out')],
    ];
    this.#reading = readingTexts(batch);
    this.#instances = wordTexts(columnOf(batch, 'instance'), instancePrefix);
    this.#sequences = integers('sequence');
  }

  /** The beginning of a row's line, as of `recordPrefix`. */
  place(row: number): string {
    return `${this.#instances(row)}${this.#sequences(row)},`;
  }

  /** The text of a row's fields. */
  at(row: number): string {
    for (const isFurther of this.#isFurther) {
      if (isFurther(row)) return recordText(recordAt(this.#batch, row));
    }
    let text = '';
    for (const [before, value] of this.#fields) text += before + value(row);
    return `${text},"context":{},"commit":null${this.#reading(row)}`;
  }
}

/** The column of a field. */
export function columnOf({ data }: RecordBatch, name: string): Data {
  return data.children[recordFields.findIndex((field) => field.name === name)]!;
}

/** Whether a row has a value, or a list that is not empty. */
function holdsValue(column: Data): (row: number) => boolean {
  const isNull = nullsIn(column);
  if (!DataType.isList(column.type)) return (row) => !isNull(row);
  const offsets: Int32Array = column.valueOffsets;
  return (row) => offsets[row + 1]! > offsets[row]!;
}

function readingTexts(batch: RecordBatch): Texts {
  const restrictions = columnOf(batch, 'restrictions');
  const read = columnOf(batch, 'read');
  const vended = columnOf(batch, 'vended');
  const canary = columnOf(batch, 'canary');
  const { length } = restrictions.children[0]!;
  const isEmpty = [read, vended, canary].every((column) => column.nullCount === column.length);
  if (length === 0 && isEmpty) return () => '';
  return (row) =>
    readingText({
      restrictions: recordKinds.restrictions.read(restrictions, row) ?? [],
      read: recordKinds.read.read(read, row),
      vended: recordKinds.vended.read(vended, row),
      canary: recordKinds.canary.read(canary, row),
    });
}

/** What is encoded of each word of a column, and null of no word. */
function wordTexts(column: Data, encoded: (word: string) => string = quotedText): Texts {
  const codes: Int32Array = column.values;
  const cached: string[] = [];
  const isNull = nullsIn(column);
  return (row) =>
    isNull(row) ? 'null' : (cached[codes[row]!] ??= encoded(wordValues.read(column, row)!));
}

function timeTexts(column: Data): Texts {
  const times: BigInt64Array = column.values;
  return (row) => `"${timeOf(Number(times[row]!))}"`;
}

function integerTexts(column: Data): Texts {
  const { values } = column;
  const isNull = nullsIn(column);
  return (row) => (isNull(row) ? 'null' : String(values[row]));
}

/** Columns that describe the caller and the request, which often repeat, and the text before each. */
const SHARED = [
  ['subject', ',"subject":'],
  ['credential', ',"credential":'],
  ['source_ip', ',"source_ip":'],
  ['user_agent', ',"user_agent":'],
  ['operation', ',"operation":'],
  ['object', ',"object":'],
  ['mode', ',"objects":[],"mode":'],
  ['branch', ',"branch":'],
  ['backend', ',"backend":'],
  ['decision', ',"decision":'],
  ['rule', ',"rule":'],
  ['policy_digest', ',"policy_digest":'],
] as const;

/** Cached texts: a power of two. */
const SLOTS = 256;

/** The text of the principal and the shared columns, which is encoded once for rows with the same values. */
class SharedTexts {
  readonly #principals: Data;
  readonly #words: readonly (readonly [before: string, Texts])[];
  /** Codes of the values of each column that has different ones. */
  readonly #codes: readonly Int32Array[];
  /** The row of each cached text. */
  readonly #rows = new Int32Array(SLOTS).fill(-1);
  readonly #texts: string[] = [];

  constructor(batch: RecordBatch) {
    this.#principals = columnOf(batch, 'principal');
    const columns = SHARED.map(([name, before]) => ({ before, column: columnOf(batch, name) }));
    this.#words = columns.map(({ before, column }) => [before, wordTexts(column)]);
    const codes = [
      principalCodes(this.#principals),
      ...columns.map(({ column }) => codesOf(column)),
    ];
    this.#codes = codes.filter((each) => each.some((code) => code !== each[0]));
  }

  readonly texts: Texts = (row) => {
    const slot = this.#slotOf(row);
    if (!this.#isSame(this.#rows[slot]!, row)) {
      this.#rows[slot] = row;
      this.#texts[slot] = this.#encoded(row);
    }
    return this.#texts[slot]!;
  };

  #slotOf(row: number): number {
    let mixed = 0;
    for (const codes of this.#codes) mixed = (Math.imul(mixed, 31) + codes[row]!) | 0;
    return mixed & (SLOTS - 1);
  }

  #isSame(before: number, row: number): boolean {
    if (before < 0) return false;
    for (const codes of this.#codes) if (codes[before] !== codes[row]) return false;
    return true;
  }

  #encoded(row: number): string {
    const principal = principalText(recordKinds.principal.read(this.#principals, row));
    let text = `,"principal":${principal}`;
    for (const [before, word] of this.#words) text += before + word(row);
    // V8 represents a concatenated text as a tree; a copy is flat.
    return Buffer.from(text).toString();
  }
}

/** A code for each row of words, -1 without a word. */
function codesOf(column: Data): Int32Array {
  const codes: Int32Array = column.values;
  const isNull = nullsIn(column);
  return column.nullCount === 0 ? codes : codes.map((code, row) => (isNull(row) ? -1 : code));
}

/** A code for each row of principals, -1 without one; equal codes are equal principals. */
function principalCodes(column: Data): Int32Array {
  const [subjects] = column.children as [Data];
  const codes = new Int32Array(column.length);
  const isNull = nullsIn(column);
  const isSame = comparisonOf(column);
  /** The last row of each subject. */
  const rows: number[] = [];
  for (let row = 0; row < codes.length; row++) {
    if (isNull(row)) {
      codes[row] = -1;
      continue;
    }
    const subject: number = subjects.values[row];
    const before = rows[subject];
    codes[row] = before !== undefined && isSame(before, row) ? codes[before]! : row;
    rows[subject] = row;
  }
  return codes;
}

type Comparison = (one: number, other: number) => boolean;

/** Compares rows of words, lists and structs. */
function comparisonOf(column: Data): Comparison {
  const isNull = nullsIn(column);
  const isSame = valueComparison(column);
  return (one, other) => (isNull(one) ? isNull(other) : !isNull(other) && isSame(one, other));
}

function valueComparison({ type, values, valueOffsets, children }: Data): Comparison {
  if (DataType.isDictionary(type)) return (one, other) => values[one] === values[other];
  const parts = children.map(comparisonOf);
  if (DataType.isStruct(type)) return (one, other) => parts.every((part) => part(one, other));
  return listComparison(valueOffsets, parts[0]!);
}

function listComparison(offsets: Int32Array, isSame: Comparison): Comparison {
  return (one, other) => {
    const [first, second] = [offsets[one]!, offsets[other]!];
    const length = offsets[one + 1]! - first;
    if (length !== offsets[other + 1]! - second) return false;
    for (let at = 0; at < length; at++) {
      if (!isSame(first + at, second + at)) return false;
    }
    return true;
  };
}
