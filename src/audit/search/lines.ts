import { linePieces } from '../chain/line-pieces.ts';
import { decodeRecord } from '../record/decoding.ts';
import type { LoggedRecord, Phase } from '../record/record.ts';
import { isAbout, isInWindow, type RequestFilter } from './filter.ts';
import { microsOf, timeOf } from '../record/time.ts';

const NEWLINE = 0x0a;
const TIME = Buffer.from('"time":"');

/**
 * Finds the records of a file of lines that are about requests of a filter. Only
 * lines with the bytes that such a record must have are read as JSON. A last
 * line without its newline is passed over.
 * @throws RecordFault for such a line that is no record.
 */
export class LinesSearch {
  readonly #filter: RequestFilter;
  readonly #needle: Buffer | undefined;
  /** Lines of earlier times are about earlier requests. */
  readonly #since: Buffer | undefined;

  constructor(filter: RequestFilter) {
    this.#filter = filter;
    this.#needle = needleOf(filter);
    this.#since = filter.since === undefined ? undefined : Buffer.from(timeOf(filter.since));
  }

  /** The candidates of the file, piece by piece; of requests of any time, when asked for. */
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

  /** The time of a line is the first thing in it that looks like one. */
  #isEarlier(bytes: Buffer, start: number): boolean {
    if (this.#since === undefined) return false;
    const at = bytes.indexOf(TIME, start) + TIME.length;
    return bytes.compare(this.#since, 0, this.#since.length, at, at + this.#since.length) < 0;
  }

  #judge(line: string, anyTime: boolean): readonly Candidate[] {
    const record = decodeRecord(line);
    const candidate = candidateOf(record);
    const isMeant = anyTime || isInWindow(this.#filter, candidate.began);
    return isMeant && isAbout(this.#filter, record) ? [candidate] : [];
  }
}

/** A record that is at hand, as a candidate. */
export function candidateOf(record: LoggedRecord): Candidate {
  return {
    phase: record.phase,
    decisionId: record.decision_id,
    began: beganOf(record),
    load: async () => record,
  };
}

/** When the request of a record came, in microseconds since 1970. */
export function beganOf({ time, duration_us: duration }: LoggedRecord): bigint {
  return microsOf(time) - (duration ?? 0n);
}

/** Text that occurs in the line of each such record. */
function needleOf({ subject, operations }: RequestFilter): Buffer | undefined {
  if (subject !== undefined) return Buffer.from(`"subject":${JSON.stringify(subject)}`);
  const [operation, ...others] = operations ?? [];
  if (operation === undefined || others.length > 0) return undefined;
  return Buffer.from(`"operation":${JSON.stringify(operation)}`);
}

/** A record that is about a request that may be meant. */
export interface Candidate {
  readonly phase: Phase;
  readonly decisionId: string;
  /** When its request came, in microseconds since 1970. */
  readonly began: bigint;
  /** The record itself; to be asked for before the next candidates are. */
  load(): Promise<LoggedRecord>;
}
