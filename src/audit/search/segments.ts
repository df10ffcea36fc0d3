import type { Data, RecordBatch } from 'apache-arrow';
import { isNull } from '../../arrow/data.ts';
import { int64Values, momentValues, textValues, wordValues } from '../../arrow/value-column.ts';
import type { Candidate } from './lines.ts';
import { recordAt } from '../record/columns.ts';
import type { LoggedRecord } from '../record/record.ts';
import { phaseOf } from '../record/decoding.ts';
import type { OpenSegment } from '../segments/segment-file.ts';
import { isInWindow, type RequestFilter } from './filter.ts';
import { textTest } from './text-test.ts';
import {
  wordEquals,
  wordsWhere,
  wordMatches,
  type CodeTest,
  type RowMarks,
} from '../record/word-codes.ts';

/** A test of some columns. */
interface ColumnTest {
  readonly columns: readonly string[];
  /** Marks the rows that pass, at least; undefined if no batch of the file has any. */
  readonly marks: (columns: readonly Data[], rows: number) => Uint8Array | undefined;
}

/** Columns that identify a request and its arrival. */
const PLACE = ['phase', 'decision_id', 'time', 'duration_us'];
const TIMES = ['time', 'duration_us'];
const IDS = ['phase', 'decision_id'];
const outcomeMarks = wordsWhere(wordEquals('outcome'));
const NO_MARKS = new Uint8Array(0);
/** Maximum distance of rows that are read in one piece. */
const NEAR_ROWS = 512;

/**
 * Finds candidates of a filter in a segment. Reads the columns of the filter first, and other
 * columns only of batches with a match.
 */
export class SegmentSearch {
  readonly #filter: RequestFilter;
  readonly #tests: readonly ColumnTest[];

  constructor(filter: RequestFilter) {
    this.#filter = filter;
    this.#tests = testsOf(filter);
  }

  /** Candidates of a segment in batches, each valid until the next is read. */
  async *candidates(segment: OpenSegment): AsyncGenerator<readonly Candidate[]> {
    for (let index = 0; index < segment.file.batchRows.length; index++) {
      segment.scratch.reset();
      const rows = await this.#rowsOf(segment, index);
      if (rows === undefined) return;
      const meant = await this.#inWindow(segment, index, rows);
      if (meant.length > 0) yield await candidatesAt(segment, index, meant);
    }
  }

  /** Outcomes of some decisions in a segment, each valid until the next batch is read. */
  async *outcomes(
    segment: OpenSegment,
    decisions: ReadonlyMap<string, unknown>,
  ): AsyncGenerator<readonly Candidate[]> {
    const { file, scratch } = segment;
    for (let index = 0; index < file.batchRows.length; index++) {
      scratch.reset();
      const batch = await file.readBatch(index, IDS, { access: scratch });
      const [phase, id] = batch.data.children as [Data, Data];
      const isOutcome = outcomeMarks(phase) ?? NO_MARKS;
      const rows = listed(isOutcome, batch.numRows).filter((row) =>
        decisions.has(textValues.read(id, row)!),
      );
      if (rows.length > 0) yield await candidatesAt(segment, index, rows);
    }
  }

  /** Matching rows of a batch; undefined if no batch of the file has any. */
  async #rowsOf({ file, scratch }: OpenSegment, index: number): Promise<Rows | undefined> {
    let marked: Uint8Array | undefined;
    for (const { columns, marks } of this.#tests) {
      const batch = await file.readBatch(index, columns, { access: scratch });
      const found = marks(batch.data.children, batch.numRows);
      // A word that is not in the file's dictionaries is in none of its batches.
      if (found === undefined) return undefined;
      marked = marked === undefined ? found : both(marked, found);
    }
    return listed(marked, file.batchRows[index]!);
  }

  async #inWindow({ file, scratch }: OpenSegment, index: number, rows: Rows): Promise<Rows> {
    const { since, until } = this.#filter;
    if (rows.length === 0 || (since === undefined && until === undefined)) return rows;
    const batch = await file.readBatch(index, TIMES, { access: scratch });
    const [time, duration] = batch.data.children as [Data, Data];
    return rows.filter((row) =>
      isInWindow(
        this.#filter,
        momentValues.read(time, row)! - (int64Values.read(duration, row) ?? 0n),
      ),
    );
  }
}

/** Rows of a batch, ascending. */
type Rows = readonly number[];

/** Candidates of some rows. Their columns are read when the first of them is loaded, those of near rows at once. */
async function candidatesAt(
  segment: OpenSegment,
  index: number,
  rows: Rows,
): Promise<readonly Candidate[]> {
  const [start, end] = [rows[0]!, rows.at(-1)! + 1];
  const read = { rows: { start, count: end - start }, access: segment.scratch };
  const { data } = await segment.file.readBatch(index, PLACE, read);
  const [phases, ids, times, durations] = data.children as [Data, Data, Data, Data];
  const phaseAt = (row: number) => phaseOf(wordValues.read(phases, row - start)!);
  // Attempts are seldom loaded: mostly their outcome is.
  const outcomes = new WholeRows(
    segment,
    index,
    rows.filter((row) => phaseAt(row) === 'outcome'),
  );
  return rows.map((row) => ({
    phase: phaseAt(row),
    decisionId: textValues.read(ids, row - start)!,
    began:
      momentValues.read(times, row - start)! - (int64Values.read(durations, row - start) ?? 0n),
    load: () => outcomes.record(row),
  }));
}

/** Rows of a batch with all columns. */
class WholeRows {
  readonly #segment: OpenSegment;
  readonly #index: number;
  readonly #stretches: readonly Stretch[];
  readonly #read = new Map<Stretch, Promise<RecordBatch>>();

  constructor(segment: OpenSegment, index: number, rows: Rows) {
    this.#segment = segment;
    this.#index = index;
    this.#stretches = stretches(rows);
  }

  /** The record of a row. Rows of one stretch are read together. */
  async record(row: number): Promise<LoggedRecord> {
    const found = this.#stretches.find(({ first, last }) => row >= first && row <= last);
    const stretch = found ?? { first: row, last: row };
    const batch = this.#read.get(stretch) ?? this.#load(stretch);
    this.#read.set(stretch, batch);
    return recordAt(await batch, row - stretch.first);
  }

  #load({ first, last }: Stretch): Promise<RecordBatch> {
    const { file, scratch } = this.#segment;
    const rows = { start: first, count: last - first + 1 };
    return file.readBatch(this.#index, undefined, { rows, access: scratch });
  }
}

/** Rows that are close together. */
interface Stretch {
  readonly first: number;
  readonly last: number;
}

/** Groups rows that are close together, each as its first and last row. */
function stretches(rows: Rows): readonly Stretch[] {
  const found: { readonly first: number; last: number }[] = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last !== undefined && row - last.last <= NEAR_ROWS) last.last = row;
    else found.push({ first: row, last: row });
  }
  return found;
}

function testsOf(filter: RequestFilter): readonly ColumnTest[] {
  const { subject, operations, object, decision, status, column, text, canary, backend } = filter;
  const tests: ColumnTest[] = [];
  const marked = (columns: readonly string[], marks: RowMarks): void => {
    tests.push({ columns, marks: (data) => either(data.map(marks)) });
  };
  const add = (columns: readonly string[], codes: CodeTest): void => {
    marked(columns, wordsWhere(codes));
  };
  if (decision !== undefined) add(['decision'], wordEquals(decision));
  if (status !== undefined) marked(['status'], statusMarks(status));
  if (column !== undefined) marked(['read'], columnMarks(column));
  if (subject !== undefined) add(['subject'], wordEquals(subject));
  if (backend !== undefined) add(['backend'], wordEquals(backend));
  if (operations !== undefined) {
    add(
      ['operation'],
      wordMatches((name) => operations.has(name)),
    );
  }
  if (object !== undefined) add(['object', 'objects'], wordMatches(object));
  if (canary !== undefined) add(['canary'], wordMatches(canary));
  const { review, reviewed } = filter;
  if (reviewed !== undefined && review !== 'unreviewed') {
    marked(['decision_id'], (data) => idMarks(data, reviewed));
  }
  const test = text === undefined ? undefined : textTest(text);
  if (test !== undefined) tests.push(test);
  return tests;
}

/** Marks the rows that read a column. */
function columnMarks(column: string): RowMarks {
  const marks = wordsWhere(wordEquals(column));
  return (read) => marks(read.children[0]!);
}

/** Marks the rows with an id that passes a test. */
function idMarks(data: Data, test: (id: string) => boolean): Uint8Array {
  const marks = new Uint8Array(data.length);
  for (let row = 0; row < marks.length; row++) {
    if (test(textValues.read(data, row)!)) marks[row] = 1;
  }
  return marks;
}

/** Marks the rows with a status that passes a test. */
function statusMarks(test: (status: number) => boolean): RowMarks {
  return (data) => {
    const marks = new Uint8Array(data.length);
    const values: Int32Array = data.values;
    for (let row = 0; row < marks.length; row++) {
      if (test(values[row]!) && !isNull(data, row)) marks[row] = 1;
    }
    return marks;
  };
}

function either(marks: readonly (Uint8Array | undefined)[]): Uint8Array | undefined {
  const [first, ...rest] = marks.filter((each) => each !== undefined);
  for (const other of rest)
    for (let row = 0; row < other.length; row++) first![row]! |= other[row]!;
  return first;
}

function both(one: Uint8Array, other: Uint8Array): Uint8Array {
  for (let row = 0; row < one.length; row++) one[row]! &= other[row]!;
  return one;
}

function listed(marks: Uint8Array | undefined, rows: number): Rows {
  if (marks === undefined) return Array.from({ length: rows }, (_, row) => row);
  const found: number[] = [];
  for (let row = marks.indexOf(1); row >= 0; row = marks.indexOf(1, row + 1)) found.push(row);
  return found;
}
