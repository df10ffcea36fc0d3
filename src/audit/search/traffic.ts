import type { Data } from 'apache-arrow';
import { linePieces } from '../chain/log-files.ts';
import { microsOf } from '../record/time.ts';
import { logPartsOf, readPart, type LogPart } from '../segments/log-part.ts';
import type { OpenSegment } from '../segments/segment-file.ts';
import type { RequestFilter } from './filter.ts';
import { LineFields, LineTexts } from './line-fields.ts';
import { CodedWords, Integers } from './request-counts.ts';

/** Fields whose values are counted. */
export const trafficKeys = [
  'operation',
  'subject',
  'object',
  'rule',
  'decision',
  'backend',
] as const;

type TrafficKey = (typeof trafficKeys)[number];

/** Criteria of counted requests. An object is compared with that of the route. */
export type TrafficFilter = Pick<
  RequestFilter,
  'subject' | 'object' | 'operations' | 'backend' | 'decision' | 'status'
>;

/** Period of the counts, in microseconds since 1970, and the number of its equal parts. */
export interface TrafficPeriod {
  readonly since: bigint;
  readonly until: bigint;
  readonly steps: number;
}

/** Counts of the requests that arrived in a part of the period. */
export interface TrafficStep {
  readonly requests: number;
  readonly denied: number;
  /** Answers with a status of 500 and above. */
  readonly failed: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Microseconds that half and 95 % of the requests took at most, to a fifth; null without requests. */
  readonly median: number | null;
  readonly slow: number | null;
}

/** Counts of one value of a field; null for requests without it. */
interface ValueCounts {
  readonly value: string | null;
  requests: number;
  denied: number;
  bytesOut: number;
}

/** Counts of requests with an outcome. */
export interface Traffic {
  readonly steps: readonly TrafficStep[];
  readonly total: TrafficStep;
  /** The most frequent values of each field. */
  readonly values: Readonly<Record<TrafficKey, readonly ValueCounts[]>>;
}

const DECISION = trafficKeys.indexOf('decision');

/** Values of a field that are counted one by one, and that are returned. */
const COUNTED_VALUES = 50_000;
const RETURNED_VALUES = 20;

/**
 * Counts the requests of a period. Reads only the columns that it needs; memory depends on the number of
 * different values, up to a maximum, and not on that of requests.
 * @throws RecordFault, StatementFault, ArrowError if the log is damaged.
 */
export async function countTraffic(
  folder: string,
  period: TrafficPeriod,
  filter: TrafficFilter,
): Promise<Traffic> {
  const counts = new TrafficCounts(period, filter);
  const reader = {
    lines: (path: string) => countLines(path, counts),
    segment: (segment: OpenSegment) => countSegment(segment, counts),
  };
  for (const part of await logPartsOf(folder)) {
    if (!mayHold(part, period)) continue;
    for await (const _ of readPart(part, reader));
  }
  return counts.result();
}

/** Requests that took longer are counted only if their outcome is in a file that is read anyway. */
const SLACK_MICROS = 600_000_000n;

function mayHold({ seal }: LogPart, { since, until }: TrafficPeriod): boolean {
  if (seal === undefined) return true;
  return microsOf(seal.to) >= since && microsOf(seal.from) < until + SLACK_MICROS;
}

/** A value of a field: whether the filter wants it, and its counts. */
interface Cell {
  readonly value: string | null;
  readonly isMeant: boolean;
  readonly isAllow: boolean;
  readonly counts: ValueCounts | undefined;
}

/** What a counted record says. */
interface CountedFields {
  readonly began: number;
  readonly duration: number;
  readonly status: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** In the order of `trafficKeys`. */
  readonly cells: readonly Cell[];
}

async function* countLines(path: string, counts: TrafficCounts): AsyncGenerator<void> {
  const texts = new LineTexts();
  for await (const { bytes, torn } of linePieces(path)) {
    if (torn) return;
    const line = new LineFields(bytes, texts);
    while (line.next()) {
      if (!line.isOutcome()) continue;
      const began = line.began();
      if (!counts.isMeant(began)) continue;
      const cell = (key: TrafficKey): Cell => counts.cellOf(key, line.text(key));
      const [subject, operation, object] = [cell('subject'), cell('operation'), cell('object')];
      const [backend, decision, rule] = [cell('backend'), cell('decision'), cell('rule')];
      counts.add({
        began,
        duration: line.duration(),
        status: line.integer('status'),
        bytesIn: line.integer('bytes_in'),
        bytesOut: line.integer('bytes_out'),
        cells: [operation, subject, object, rule, decision, backend],
      });
    }
    yield;
  }
}

const NUMBERS = ['time', 'duration_us', 'bytes_in', 'bytes_out'];

async function* countSegment(
  { file, scratch }: OpenSegment,
  counts: TrafficCounts,
): AsyncGenerator<void> {
  const outcomes = new CodedWords((phase) => phase === 'outcome');
  const cells = trafficKeys.map((key) => new CodedWords((word) => counts.cellOf(key, word)));
  const columns = ['phase', ...trafficKeys, 'status', ...NUMBERS];
  for (let index = 0; index < file.batchRows.length; index++) {
    const { data } = await file.readBatch(index, columns, { access: scratch });
    const isOutcomeAt = outcomes.of(data.children[0]!);
    const cellAt = cells.map((each, at) => each.of(data.children[1 + at]!));
    const status: Int32Array = data.children[1 + cells.length]!.values;
    const [time, duration, bytesIn, bytesOut] = data.children
      .slice(2 + cells.length)
      .map((each: Data) => new Integers(each)) as [Integers, Integers, Integers, Integers];
    for (let row = 0; row < data.length; row++) {
      if (!isOutcomeAt(row)) continue;
      // A null is stored as zero.
      const took = duration.at(row);
      const began = time.at(row) - took;
      if (!counts.isMeant(began)) continue;
      counts.add({
        began,
        duration: took,
        status: status[row]!,
        bytesIn: bytesIn.at(row),
        bytesOut: bytesOut.at(row),
        cells: cellAt.map((read) => read(row)),
      });
    }
    yield;
    scratch.reset();
  }
}

/** Four classes of durations for each power of two. */
const CLASSES_PER_DOUBLING = 4;
const CLASSES = 40 * CLASSES_PER_DOUBLING;

class TrafficCounts {
  readonly #filter: TrafficFilter;
  readonly #since: number;
  readonly #until: number;
  readonly #stepMicros: number;
  readonly #steps: readonly StepCounts[];
  readonly #total = new StepCounts();
  readonly #cells = new Map(trafficKeys.map((key) => [key, new Map<string | null, Cell>()]));

  constructor({ since, until, steps }: TrafficPeriod, filter: TrafficFilter) {
    this.#filter = filter;
    this.#since = Number(since);
    this.#until = Number(until);
    this.#stepMicros = Math.max(1, (this.#until - this.#since) / steps);
    this.#steps = Array.from({ length: steps }, () => new StepCounts());
  }

  /** Whether a time is in the period, in microseconds since 1970. */
  isMeant(began: number): boolean {
    return began >= this.#since && began < this.#until;
  }

  /** The cell of a value; values beyond the maximum number are not counted one by one. */
  cellOf(key: TrafficKey, value: string | null): Cell {
    const cells = this.#cells.get(key)!;
    const known = cells.get(value);
    if (known !== undefined) return known;
    const counts =
      cells.size < COUNTED_VALUES ? { value, requests: 0, denied: 0, bytesOut: 0 } : undefined;
    const cell = { value, isMeant: this.#means(key, value), isAllow: value === 'allow', counts };
    if (counts !== undefined) cells.set(value, cell);
    return cell;
  }

  add(fields: CountedFields): void {
    const { cells, status, bytesOut } = fields;
    for (const { isMeant } of cells) if (!isMeant) return;
    const wanted = this.#filter.status;
    if (wanted !== undefined && (status === 0 || !wanted(status))) return;
    const isDenied = !cells[DECISION]!.isAllow;
    const at = Math.floor((fields.began - this.#since) / this.#stepMicros);
    (this.#steps[at] ?? this.#steps.at(-1))?.add(fields, isDenied);
    this.#total.add(fields, isDenied);
    for (const { counts } of cells) {
      if (counts === undefined) continue;
      counts.requests += 1;
      counts.bytesOut += bytesOut;
      if (isDenied) counts.denied += 1;
    }
  }

  result(): Traffic {
    const values = trafficKeys.map((key) => {
      const all = [...this.#cells.get(key)!.values()].flatMap(({ counts }) =>
        counts === undefined || counts.requests === 0 ? [] : [counts],
      );
      const sorted = all.sort((one, other) => other.requests - one.requests);
      return [key, sorted.slice(0, RETURNED_VALUES)] as const;
    });
    return {
      steps: this.#steps.map((step) => step.result()),
      total: this.#total.result(),
      values: Object.fromEntries(values) as unknown as Traffic['values'],
    };
  }

  #means(key: TrafficKey, value: string | null): boolean {
    const { subject, operations, object, decision, backend } = this.#filter;
    if (key === 'subject') return subject === undefined || subject === value;
    if (key === 'decision') return decision === undefined || decision === value;
    if (key === 'operation') return operations === undefined || has(operations, value);
    if (key === 'backend') return backend === undefined || backend === value;
    return key !== 'object' || object === undefined || (value !== null && object(value));
  }
}

function has(names: ReadonlySet<string>, name: string | null): boolean {
  return name !== null && names.has(name);
}

class StepCounts {
  #requests = 0;
  #denied = 0;
  #failed = 0;
  #bytesIn = 0;
  #bytesOut = 0;
  readonly #durations = new Uint32Array(CLASSES);

  add({ duration, status, bytesIn, bytesOut }: CountedFields, isDenied: boolean): void {
    this.#requests += 1;
    if (isDenied) this.#denied += 1;
    if (status >= 500) this.#failed += 1;
    this.#bytesIn += bytesIn;
    this.#bytesOut += bytesOut;
    const classOf = Math.floor(CLASSES_PER_DOUBLING * Math.log2(duration + 1));
    this.#durations[Math.min(CLASSES - 1, Math.max(0, classOf))]! += 1;
  }

  result(): TrafficStep {
    return {
      requests: this.#requests,
      denied: this.#denied,
      failed: this.#failed,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      median: this.#durationOf(0.5),
      slow: this.#durationOf(0.95),
    };
  }

  /** Duration that a share of the requests took at most. */
  #durationOf(share: number): number | null {
    if (this.#requests === 0) return null;
    let left = Math.ceil(share * this.#requests);
    for (const [at, count] of this.#durations.entries()) {
      left -= count;
      if (left <= 0) return Math.round(2 ** ((at + 0.5) / CLASSES_PER_DOUBLING) - 1);
    }
    return null;
  }
}
