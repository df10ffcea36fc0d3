import type { Data } from 'apache-arrow';
import { isNull } from '../../arrow/data.ts';
import { wordValues } from '../../arrow/value-column.ts';
import { linePieces } from '../chain/log-files.ts';
import { readPart, type LogPart } from '../segments/log-part.ts';
import { decisionOf } from '../record/decoding.ts';
import { decisions, type Decision } from '../record/record.ts';
import { microsOf } from '../record/time.ts';
import type { RequestFilter } from './filter.ts';
import { LineFields, LineTexts } from './line-fields.ts';
import type { FoundRequest } from './search.ts';
import type { OpenSegment } from '../segments/segment-file.ts';

/** Fields by which the records of a part are counted without decoding them. */
export type CountedField =
  | 'subject'
  | 'object'
  | 'operation'
  | 'rule'
  | 'backend'
  | 'credential'
  | 'source_ip'
  | 'policy_digest';

/** Counts of the requests with one key, such as a subject. */
export interface RequestCounts {
  /** Null for requests without a value. */
  readonly key: string | null;
  /** Requests with an outcome. */
  readonly requests: number;
  /** Requests without an outcome: in flight, or of unknown result. */
  readonly open: number;
  readonly decisions: ReadonlyMap<Decision, number>;
  readonly bytesIn: bigint;
  readonly bytesOut: bigint;
  /** Arrival of the first and the last request, in microseconds since 1970. */
  readonly first: bigint;
  readonly last: bigint;
}

/** The requests of a part that are counted. */
export interface CountedPart {
  readonly part: LogPart;
  readonly by: CountedField;
  readonly window: Pick<RequestFilter, 'since' | 'until'>;
}

/**
 * Counts the requests of a part by a key.
 * @param progress Called with the number of records of each batch.
 */
export async function countPart(
  { part, by, window }: CountedPart,
  progress: (records: number) => void = () => undefined,
): Promise<readonly KeyCounts[]> {
  const tallies = new CountsByKey(window);
  const reader = {
    lines: (path: string) => countedLines(path, by, tallies),
    segment: (segment: OpenSegment) => countedSegment(segment, by, tallies),
  };
  for await (const records of readPart(part, reader)) progress(records);
  return tallies.used;
}

/** Joins the counts of parts, which are added in the order of the parts. */
export class JoinedCounts {
  readonly #byKey = new Map<string | null, KeyCounts>();

  add(counts: readonly KeyCounts[]): void {
    for (const each of counts) {
      const before = this.#byKey.get(each.key);
      if (before === undefined) this.#byKey.set(each.key, each);
      else addCounts(before, each);
    }
  }

  /** The counts of all keys, largest first. */
  sorted(): readonly RequestCounts[] {
    return [...this.#byKey.values()]
      .map(resultOf)
      .filter(({ requests, open }) => requests + open > 0)
      .sort((one, other) => other.requests + other.open - (one.requests + one.open));
  }
}

/** Index of a decision in `decisions`. */
type DecisionIndex = number;

/** Counts of one key. Times are microseconds since 1970, which numbers represent exactly until 2255. */
export interface KeyCounts {
  readonly key: string | null;
  /** Requests by their decisions, in the order of `decisions`. */
  readonly decided: number[];
  attempts: number;
  bytesIn: number;
  bytesOut: number;
  first: number;
  last: number;
}

function noCounts(key: string | null): KeyCounts {
  const decided = decisions.map(() => 0);
  const [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return { key, decided, attempts: 0, bytesIn: 0, bytesOut: 0, first, last };
}

function addCounts(to: KeyCounts, from: KeyCounts): void {
  for (const [at, count] of from.decided.entries()) to.decided[at]! += count;
  to.attempts += from.attempts;
  to.bytesIn += from.bytesIn;
  to.bytesOut += from.bytesOut;
  to.first = Math.min(to.first, from.first);
  to.last = Math.max(to.last, from.last);
}

function resultOf({ key, decided, attempts, ...counts }: KeyCounts): RequestCounts {
  const requests = decided.reduce((sum, count) => sum + count, 0);
  const named = decisions.map((name, at) => [name, decided[at]!] as const);
  return {
    key,
    requests,
    // Attempt and outcome may name different rules.
    open: Math.max(0, attempts - requests),
    decisions: new Map(named.filter(([, count]) => count > 0)),
    bytesIn: BigInt(counts.bytesIn),
    bytesOut: BigInt(counts.bytesOut),
    first: BigInt(counts.first),
    last: BigInt(counts.last),
  };
}

/** The key of a request, or all of them. */
export type FoundKey = string | null | readonly string[];

/** Counts requests that a search found, by a key. A request of several keys counts for each. */
export class FoundCounts {
  readonly #tallies = new CountsByKey({});
  readonly #keyOf: (found: FoundRequest) => FoundKey;

  constructor(keyOf: (found: FoundRequest) => FoundKey) {
    this.#keyOf = keyOf;
  }

  add(requests: readonly FoundRequest[]): void {
    for (const found of requests) {
      const key = this.#keyOf(found);
      const keys = key === null || typeof key === 'string' ? [key] : key;
      for (const each of keys) this.#count(each, found);
    }
  }

  #count(key: string | null, { record, began }: FoundRequest): void {
    const counts = this.#tallies.of(key);
    this.#tallies.begin(counts, Number(microsOf(began)));
    counts.attempts += 1;
    if (record.phase === 'attempt') return;
    counts.decided[decisionIndex(record.decision)]! += 1;
    counts.bytesIn += Number(record.bytes_in ?? 0);
    counts.bytesOut += Number(record.bytes_out ?? 0);
  }

  get counts(): readonly KeyCounts[] {
    return this.#tallies.used;
  }
}

class CountsByKey {
  readonly #since: number;
  readonly #until: number;
  readonly #byKey = new Map<string | null, KeyCounts>();
  /** Counts with a record in the window, in the order of their first. */
  readonly used: KeyCounts[] = [];

  constructor({ since, until }: Pick<RequestFilter, 'since' | 'until'>) {
    this.#since = Number(since ?? Number.NEGATIVE_INFINITY);
    this.#until = Number(until ?? Number.POSITIVE_INFINITY);
  }

  /** Counts of a key, which are part of the result once they have a request. */
  of(key: string | null): KeyCounts {
    let counts = this.#byKey.get(key);
    if (counts === undefined) this.#byKey.set(key, (counts = noCounts(key)));
    return counts;
  }

  /** Adds a record that began at a time. @returns False if that is outside of the window. */
  begin(counts: KeyCounts, began: number): boolean {
    if (began < this.#since || began >= this.#until) return false;
    if (counts.last === Number.NEGATIVE_INFINITY) this.used.push(counts);
    if (began < counts.first) counts.first = began;
    if (began > counts.last) counts.last = began;
    return true;
  }
}

/** Counts the records of a file of lines. @returns The number of records of each piece. */
async function* countedLines(
  path: string,
  by: CountedField,
  tallies: CountsByKey,
): AsyncGenerator<number> {
  const texts = new LineTexts();
  for await (const { bytes, torn } of linePieces(path)) {
    if (torn) return;
    const line = new LineFields(bytes, texts);
    let records = 0;
    for (; line.next(); records++) {
      const counts = tallies.of(line.text(by));
      if (!tallies.begin(counts, line.began())) continue;
      if (!line.isOutcome()) {
        counts.attempts += 1;
        continue;
      }
      counts.decided[decisionIndex(line.text('decision'))]! += 1;
      counts.bytesIn += line.integer('bytes_in');
      counts.bytesOut += line.integer('bytes_out');
    }
    yield records;
  }
}

function decisionIndex(decision: string | null): DecisionIndex {
  return decisions.indexOf(decisionOf(decision ?? ''));
}

/** Columns of a segment that are counted, after the key. */
const COUNTED = ['phase', 'decision', 'time', 'duration_us', 'bytes_in', 'bytes_out'];

/** Counts the records of a segment by the codes of its dictionaries. @returns The number of records of each batch. */
async function* countedSegment(
  { file, scratch }: OpenSegment,
  by: CountedField,
  tallies: CountsByKey,
): AsyncGenerator<number> {
  const keys = new CodedWords((key) => tallies.of(key));
  const outcomes = new CodedWords((phase) => phase === 'outcome');
  const decided = new CodedWords(decisionIndex);
  for (let index = 0; index < file.batchRows.length; index++) {
    const columns = [by, ...COUNTED];
    const { data } = await file.readBatch(index, columns, { access: scratch });
    const [key, phase, decision, ...numbers] = data.children as [Data, Data, Data, ...Data[]];
    const [countsAt, isOutcomeAt, decidedAt] = [
      keys.of(key),
      outcomes.of(phase),
      decided.of(decision),
    ];
    const [time, duration, bytesIn, bytesOut] = numbers.map((each) => new Integers(each)) as [
      Integers,
      Integers,
      Integers,
      Integers,
    ];
    for (let row = 0; row < data.length; row++) {
      const counts = countsAt(row);
      // A null is stored as zero.
      if (!tallies.begin(counts, time.at(row) - duration.at(row))) continue;
      if (!isOutcomeAt(row)) {
        counts.attempts += 1;
        continue;
      }
      counts.decided[decidedAt(row)]! += 1;
      counts.bytesIn += bytesIn.at(row);
      counts.bytesOut += bytesOut.at(row);
    }
    yield data.length;
    scratch.reset();
  }
}

/** Values for the words of a column, computed once for each word of the file. */
export class CodedWords<Value> {
  readonly #valueOf: (word: string | null) => Value;
  readonly #byCode: Value[] = [];
  #absent: Value | undefined;

  constructor(valueOf: (word: string | null) => Value) {
    this.#valueOf = valueOf;
  }

  /** The value of each row of a batch. */
  of(column: Data): (row: number) => Value {
    const codes: Int32Array = column.values;
    const byCode = this.#byCode;
    const read = (row: number): Value =>
      byCode[codes[row]!] ?? (byCode[codes[row]!] = this.#valueOf(wordValues.read(column, row)));
    if (column.nullCount === 0) return read;
    return (row) => (isNull(column, row) ? (this.#absent ??= this.#valueOf(null)) : read(row));
  }
}

/** Integers of 64 bits as numbers, which are exact up to 2^53. */
export class Integers {
  readonly #halves: Int32Array;

  constructor({ values }: Data) {
    this.#halves = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
  }

  at(row: number): number {
    return this.#halves[2 * row + 1]! * 2 ** 32 + (this.#halves[2 * row]! >>> 0);
  }
}
