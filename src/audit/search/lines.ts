import { linePieces } from '../chain/log-files.ts';
import { decodeRecord } from '../record/decoding.ts';
import type { LoggedRecord, Phase } from '../record/record.ts';
import { isAbout, type RequestFilter } from './filter.ts';
import { LineFields, LineTexts } from './line-fields.ts';
import { microsOf } from '../record/time.ts';

const NEWLINE = 0x0a;

/** Decisions whose ids are searched one by one in the bytes; of more of them every line's id is read. */
const FEW_DECISIONS = 8;

/**
 * Finds candidates of a filter in a file of lines. Only lines with the bytes that a match must
 * have are decoded. A torn last line is ignored.
 * @throws RecordFault for a damaged line.
 */
export class LinesSearch {
  readonly #filter: RequestFilter;
  /** Bytes that the line of every match contains, the rarest first. */
  readonly #needles: readonly Buffer[];
  /** The window of arrivals, in microseconds since 1970. */
  readonly #since: number;
  readonly #until: number;

  constructor(filter: RequestFilter) {
    this.#filter = filter;
    this.#needles = needlesOf(filter);
    this.#since = Number(filter.since ?? Number.NEGATIVE_INFINITY);
    this.#until = Number(filter.until ?? Number.POSITIVE_INFINITY);
  }

  /** Candidates of a file in batches. */
  async *candidates(path: string): AsyncGenerator<readonly Candidate[]> {
    const texts = new LineTexts();
    for await (const { bytes, torn } of linePieces(path)) {
      if (torn) return;
      const found = [...this.#candidatesIn(bytes, texts)];
      if (found.length > 0) yield found;
    }
  }

  /** Outcomes of some decisions in a file. */
  async *outcomes(
    path: string,
    decisions: ReadonlyMap<string, unknown>,
  ): AsyncGenerator<readonly Candidate[]> {
    for await (const { bytes, torn } of linePieces(path)) {
      if (torn) return;
      const found: Candidate[] = [];
      for (const line of linesAbout(bytes, decisions)) {
        if (!line.isOutcome() || !decisions.has(line.text('decision_id')!)) continue;
        found.push(candidateOf(decodeRecord(line.whole())));
      }
      if (found.length > 0) yield found;
    }
  }

  *#candidatesIn(bytes: Buffer, texts: LineTexts): Generator<Candidate> {
    const [needle, ...others] = this.#needles;
    const fields = new LineFields(bytes, texts);
    for (let start = 0; start < bytes.length; start = fields.end + 1) {
      if (needle !== undefined) {
        const at = bytes.indexOf(needle, start);
        if (at < 0) return;
        start = Math.max(start, bytes.lastIndexOf(NEWLINE, at) + 1);
      }
      fields.seek(start);
      const line = bytes.subarray(start, fields.end);
      if (!this.#isMeant(fields) || !others.every((one) => line.includes(one))) continue;
      yield this.#candidateAt(fields, line.toString());
    }
  }

  /** Compares single fields, so that only lines of matches are decoded. */
  #isMeant(line: LineFields): boolean {
    const { subject, operations, object, backend } = this.#filter;
    const began = line.began();
    if (began < this.#since || began >= this.#until) return false;
    if (subject !== undefined && line.text('subject') !== subject) return false;
    if (backend !== undefined && line.text('backend') !== backend) return false;
    if (operations !== undefined && !operations.has(line.text('operation') ?? '')) return false;
    if (object === undefined) return true;
    const own = line.text('object');
    if (own !== null && object(own)) return true;
    return line.hasItems('objects') && isAbout(this.#filter, decodeRecord(line.whole()));
  }

  #candidateAt(fields: LineFields, line: string): Candidate {
    return {
      phase: fields.isOutcome() ? 'outcome' : 'attempt',
      decisionId: fields.text('decision_id') ?? '',
      began: BigInt(fields.began()),
      load: async () => decodeRecord(line),
    };
  }
}

/** Lines of a piece that may be about some decisions: all of them unless the decisions are few. */
function* linesAbout(
  bytes: Buffer,
  decisions: ReadonlyMap<string, unknown>,
): Generator<LineFields> {
  const line = new LineFields(bytes);
  if (decisions.size > FEW_DECISIONS) {
    while (line.next()) yield line;
    return;
  }
  const starts = [...decisions.keys()].flatMap((id) => startsWith(bytes, id));
  for (const start of new Set(starts.toSorted((one, other) => one - other))) {
    line.seek(start);
    yield line;
  }
}

/** Starts of the lines with a decision's id. */
function startsWith(bytes: Buffer, id: string): readonly number[] {
  const needle = Buffer.from(`,"decision_id":${JSON.stringify(id)}`);
  const starts: number[] = [];
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
    starts.push(bytes.lastIndexOf(NEWLINE, at) + 1);
  }
  return starts;
}

/** A decoded record as a candidate. */
function candidateOf(record: LoggedRecord): Candidate {
  return {
    phase: record.phase,
    decisionId: record.decision_id,
    began: beganOf(record),
    load: async () => record,
  };
}

/** Arrival of a record's request, in microseconds since 1970. */
export function beganOf({ time, duration_us: duration }: LoggedRecord): bigint {
  return microsOf(time) - (duration ?? 0n);
}

/** Texts that the line of every match contains. Names of fields are never part of a value: its quotes are escaped. */
function needlesOf(filter: RequestFilter): readonly Buffer[] {
  const { subject, operations, decision, column, text, backend } = filter;
  const [operation, ...others] = operations ?? [];
  const needles = [
    subject !== undefined && `,"subject":${JSON.stringify(subject)}`,
    column !== undefined && !SURROGATE.test(column) && JSON.stringify(column),
    // Half of a pair of surrogates is written in another way than the pair.
    text !== undefined && !SURROGATE.test(text) && JSON.stringify(text).slice(1, -1),
    filter.canary !== undefined && ',"canary":"',
    operation !== undefined && others.length === 0 && `,"operation":${JSON.stringify(operation)}`,
    statusNeedle(filter),
    decision !== undefined && `,"decision":${JSON.stringify(decision)}`,
    backend !== undefined && `,"backend":${JSON.stringify(backend)}`,
  ];
  return needles.filter((needle) => needle !== false).map((needle) => Buffer.from(needle));
}

const SURROGATE = /[\ud800-\udfff]/;
const STATUSES = Array.from({ length: 500 }, (_, at) => 100 + at);

/** The beginning that all statuses of a filter share. */
function statusNeedle({ status }: RequestFilter): string | false {
  if (status === undefined) return false;
  const [first, ...others] = STATUSES.filter(status).map(String);
  if (first === undefined) return false;
  if (others.length === 0) return `,"status":${first},`;
  return others.every((other) => other.startsWith(first[0]!)) && `,"status":${first[0]}`;
}

/** A record that may match a filter. */
export interface Candidate {
  readonly phase: Phase;
  readonly decisionId: string;
  /** Arrival of its request, in microseconds since 1970. */
  readonly began: bigint;
  /** Reads the record; only valid until the next batch of candidates. */
  load(): Promise<LoggedRecord>;
}
