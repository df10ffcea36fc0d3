import { DataType, type Data, type RecordBatch } from 'apache-arrow';
import { isNull } from '../../arrow/data.ts';
import { textValues, wordValues } from '../../arrow/value-column.ts';
import { recordAt, recordFields, recordKinds } from './columns.ts';
import { principalText, readingText, recordText, quotedText } from './encoding.ts';
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
  readonly #before: readonly (readonly [string, Texts])[];
  readonly #after: readonly (readonly [string, Texts])[];
  readonly #reading: Texts;

  /** @param batch With the columns of `recordFields`. */
  constructor(batch: RecordBatch) {
    this.#batch = batch;
    this.#isFurther = FURTHER.map((name) => holdsValue(columnOf(batch, name)));
    const words = (name: string): Texts => wordTexts(columnOf(batch, name));
    const integers = (name: string): Texts => integerTexts(columnOf(batch, name));
    const texts = (name: string): Texts => {
      const column = columnOf(batch, name);
      return (row) => quotedText(textValues.read(column, row));
    };
    this.#before = [
      ['"phase":', words('phase')],
      [',"time":', timeTexts(columnOf(batch, 'time'))],
      [',"duration_us":', integers('duration_us')],
      [',"request_id":', texts('request_id')],
      [',"decision_id":', texts('decision_id')],
      [',"principal":', principalTexts(columnOf(batch, 'principal'))],
      [',"subject":', words('subject')],
      [',"credential":', words('credential')],
      [',"source_ip":', words('source_ip')],
      [',"user_agent":', words('user_agent')],
      [',"operation":', words('operation')],
      [',"object":', words('object')],
    ];
    this.#after = [
      [',"objects":[],"mode":', words('mode')],
      [',"branch":', words('branch')],
      [',"backend":', words('backend')],
      [',"decision":', words('decision')],
      [',"rule":', words('rule')],
      [',"policy_digest":', words('policy_digest')],
      [',"rights":[],"shadow":null,"status":', integers('status')],
      [',"code":', integers('code')],
      [',"bytes_in":', integers('bytes_in')],
      [',"bytes_out":', integers('bytes_out')],
    ];
    this.#reading = readingTexts(batch);
  }

  at(row: number): string {
    for (const isFurther of this.#isFurther) {
      if (isFurther(row)) return recordText(recordAt(this.#batch, row));
    }
    let text = '';
    for (const [name, value] of this.#before) text += name + value(row);
    for (const [name, value] of this.#after) text += name + value(row);
    return `${text},"context":{},"commit":null${this.#reading(row)}`;
  }
}

/** The column of a field. */
export function columnOf({ data }: RecordBatch, name: string): Data {
  return data.children[recordFields.findIndex((field) => field.name === name)]!;
}

/** Whether a row has a value, or a list that is not empty. */
function holdsValue(column: Data): (row: number) => boolean {
  if (!DataType.isList(column.type)) return (row) => !isNull(column, row);
  const offsets: Int32Array = column.valueOffsets;
  return (row) => offsets[row + 1]! > offsets[row]!;
}

function readingTexts(batch: RecordBatch): Texts {
  const restrictions = columnOf(batch, 'restrictions');
  const [read, vended] = [columnOf(batch, 'read'), columnOf(batch, 'vended')];
  const { length } = restrictions.children[0]!;
  const isEmpty = [read, vended].every((column) => column.nullCount === column.length);
  if (length === 0 && isEmpty) return () => '';
  return (row) =>
    readingText({
      restrictions: recordKinds.restrictions.read(restrictions, row) ?? [],
      read: recordKinds.read.read(read, row),
      vended: recordKinds.vended.read(vended, row),
    });
}

function wordTexts(column: Data): Texts {
  const codes: Int32Array = column.values;
  const cached: string[] = [];
  const read: Texts = (row) => (cached[codes[row]!] ??= quotedText(wordValues.read(column, row)));
  return column.nullCount === 0 ? read : (row) => (isNull(column, row) ? 'null' : read(row));
}

function timeTexts(column: Data): Texts {
  const times: BigInt64Array = column.values;
  return (row) => quotedText(timeOf(Number(times[row]!)));
}

function integerTexts(column: Data): Texts {
  const { values } = column;
  const isPlain = column.nullCount === 0;
  return (row) => (isPlain || !isNull(column, row) ? String(values[row]) : 'null');
}

/** The last text of each subject is cached with its row. */
function principalTexts(column: Data): Texts {
  const [subject] = column.children as [Data];
  const codes: Int32Array = subject.values;
  const cached: { readonly row: number; readonly text: string }[] = [];
  return (row) => {
    if (isNull(column, row)) return 'null';
    const before = cached[codes[row]!];
    if (before !== undefined && isSame(column, before.row, row)) return before.text;
    const text = principalText(recordKinds.principal.read(column, row));
    cached[codes[row]!] = { row, text };
    return text;
  };
}

/** Whether two rows of words, lists and structs are equal. */
function isSame(column: Data, one: number, other: number): boolean {
  const isAbsent = isNull(column, one);
  if (isAbsent || isNull(column, other)) return isAbsent && isNull(column, other);
  const { type, children } = column;
  if (DataType.isDictionary(type)) return column.values[one] === column.values[other];
  if (DataType.isStruct(type)) return children.every((child) => isSame(child, one, other));
  const offsets: Int32Array = column.valueOffsets;
  const [first, second] = [offsets[one]!, offsets[other]!];
  const length = offsets[one + 1]! - first;
  if (length !== offsets[other + 1]! - second) return false;
  for (let at = 0; at < length; at++) {
    if (!isSame(children[0]!, first + at, second + at)) return false;
  }
  return true;
}
