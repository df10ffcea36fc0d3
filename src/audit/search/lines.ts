import { linePieces } from '../chain/log-files.ts';
import { decodeRecord } from '../record/decoding.ts';
import type { LoggedRecord, Phase } from '../record/record.ts';
import { isAbout, isInWindow, type RequestFilter } from './filter.ts';
import { microsOf, timeOf } from '../record/time.ts';

const NEWLINE = 0x0a;
const TIME = Buffer.from('"time":"');

/**
 * Finds candidates of a filter in a file of lines. Only lines with the bytes that a match must
 * have are decoded. A torn last line is ignored.
 * @throws RecordFault for a damaged line.
 */
export class LinesSearch {
  readonly #filter: RequestFilter;
  readonly #needle: Buffer | undefined;
  /** Lines with an earlier time belong to earlier requests. */
  readonly #since: Buffer | undefined;

  constructor(filter: RequestFilter) {
    this.#filter = filter;
    this.#needle = needleOf(filter);
    this.#since = filter.since === undefined ? undefined : Buffer.from(timeOf(filter.since));
  }

  /** Candidates of a file in batches. @param anyTime Whether the window of the filter is ignored. */
  async *candidates(path: string, anyTime: boolean): AsyncGenerator<readonly Candidate[]> {
    for await (const { bytes, torn } of linePieces(path)) {
      if (torn) return;
      const found = [...this.#linesIn(bytes)].flatMap((line) => this.#judge(line, anyTime));
      if (found.length > 0) yield found;
    }
  }

  *#linesIn(bytes: Buffer): Generator<string> {
    const needle = this.#needle;
    for (let start = 0; start < bytes.length;) {
      if (needle !== undefined) {
        const at = bytes.indexOf(needle, start);
        if (at < 0) return;
        start = Math.max(start, bytes.lastIndexOf(NEWLINE, at) + 1);
      }
      const end = bytes.indexOf(NEWLINE, start);
      if (!this.#isEarlier(bytes, start)) yield bytes.toString('utf8', start, end);
      start = end + 1;
    }
  }

  /** Compares the time of a line, which is its first field of that name. */
  #isEarlier(bytes: Buffer, start: number): boolean {
    if (this.#since === undefined) return false;
    const at = bytes.indexOf(TIME, start) + TIME.length;
    return bytes.compare(this.#since, 0, this.#since.length, at, at + this.#since.length) < 0;
  }

  #judge(line: string, anyTime: boolean): readonly Candidate[] {
    const record = decodeRecord(line);
    const candidate = candidateOf(record);
    const inTime = anyTime || isInWindow(this.#filter, candidate.began);
    return inTime && isAbout(this.#filter, record) ? [candidate] : [];
  }
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

/** Bytes that the line of every match contains. */
function needleOf({ subject, operations }: RequestFilter): Buffer | undefined {
  if (subject !== undefined) return Buffer.from(`"subject":${JSON.stringify(subject)}`);
  const [operation, ...others] = operations ?? [];
  if (operation === undefined || others.length > 0) return undefined;
  return Buffer.from(`"operation":${JSON.stringify(operation)}`);
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
