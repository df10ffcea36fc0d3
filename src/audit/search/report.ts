import type { Data } from 'apache-arrow';
import { int64Values, momentValues, wordValues } from '../../arrow/value-column.ts';
import { lineBatches } from '../chain/log-files.ts';
import { logPartsOf, readPart, type LogPart } from '../segments/log-part.ts';
import { decisionOf, decodeRecord } from '../record/decoding.ts';
import type { Decision, LoggedRecord } from '../record/record.ts';
import { isInWindow, type RequestFilter } from './filter.ts';
import type { OpenSegment } from '../segments/segment-file.ts';
import { microsOf } from '../record/time.ts';

/** The grouping of a report. */
export const reportKeys = ['subject', 'object', 'operation', 'rule'] as const;

export type ReportKey = (typeof reportKeys)[number];

/** Counts of the requests with one subject, object, operation or rule. */
export interface RequestCounts {
  /** Null for requests without a value. */
  readonly key: string | null;
  /** Requests with an outcome. */
  requests: number;
  /** Requests without an outcome: in flight, or of unknown result. */
  open: number;
  readonly decisions: Map<Decision, number>;
  bytesIn: bigint;
  bytesOut: bigint;
  /** Arrival of the first and the last request, in microseconds since 1970. */
  first: bigint;
  last: bigint;
}

/** Fields of a record that are counted. */
interface Line {
  readonly key: string | null;
  readonly isOutcome: boolean;
  readonly decision: string;
  readonly began: bigint;
  readonly bytesIn: bigint | null;
  readonly bytesOut: bigint | null;
}

/**
 * Counts the requests of a window by a key, largest counts first.
 * @param progress Called with the number of records read.
 */
export async function reportRequests(
  folder: string,
  by: ReportKey,
  window: Pick<RequestFilter, 'since' | 'until'>,
  progress: (records: number) => void = () => undefined,
): Promise<readonly RequestCounts[]> {
  const tallies = new CountsByKey(window);
  for (const part of await logPartsOf(folder)) {
    if (!mayHold(part, window)) continue;
    const reader = {
      lines: (path: string) => linesOfFile(path, by),
      segment: (segment: OpenSegment) => linesOfSegment(segment, by),
    };
    for await (const lines of readPart(part, reader)) {
      for (const line of lines) tallies.add(line);
      progress(tallies.records);
    }
  }
  return tallies.sorted();
}

class CountsByKey {
  records = 0;
  readonly #window: Pick<RequestFilter, 'since' | 'until'>;
  readonly #byKey = new Map<string | null, RequestCounts>();

  constructor(window: Pick<RequestFilter, 'since' | 'until'>) {
    this.#window = window;
  }

  add({ key, isOutcome, decision, began, bytesIn, bytesOut }: Line): void {
    this.records += 1;
    if (!isInWindow(this.#window, began)) return;
    const tally = this.#of(key, began);
    if (began < tally.first) tally.first = began;
    if (began > tally.last) tally.last = began;
    if (!isOutcome) {
      tally.open += 1;
      return;
    }
    tally.open -= 1;
    tally.requests += 1;
    const decided = decisionOf(decision);
    tally.decisions.set(decided, (tally.decisions.get(decided) ?? 0) + 1);
    tally.bytesIn += bytesIn ?? 0n;
    tally.bytesOut += bytesOut ?? 0n;
  }

  sorted(): readonly RequestCounts[] {
    const all = [...this.#byKey.values()].map((tally) => ({
      ...tally,
      // Attempt and outcome may name different rules.
      open: Math.max(0, tally.open),
    }));
    return all
      .filter(({ requests, open }) => requests + open > 0)
      .sort((one, other) => other.requests + other.open - (one.requests + one.open));
  }

  #of(key: string | null, began: bigint): RequestCounts {
    const existing = this.#byKey.get(key);
    if (existing !== undefined) return existing;
    const tally: RequestCounts = {
      key,
      requests: 0,
      open: 0,
      decisions: new Map(),
      bytesIn: 0n,
      bytesOut: 0n,
      first: began,
      last: began,
    };
    this.#byKey.set(key, tally);
    return tally;
  }
}

/** Whether a part may hold records of the window. An outcome is never older than its request. */
function mayHold({ seal }: LogPart, { since }: Pick<RequestFilter, 'since'>): boolean {
  return seal === undefined || since === undefined || microsOf(seal.to) >= since;
}

async function* linesOfFile(path: string, by: ReportKey): AsyncGenerator<readonly Line[]> {
  for await (const lines of lineBatches(path)) {
    yield lines.map((line) => lineOf(decodeRecord(line), by));
  }
}

function lineOf(record: LoggedRecord, by: ReportKey): Line {
  return {
    key: record[by],
    isOutcome: record.phase === 'outcome',
    decision: record.decision,
    began: microsOf(record.time) - (record.duration_us ?? 0n),
    bytesIn: record.bytes_in,
    bytesOut: record.bytes_out,
  };
}

async function* linesOfSegment(
  { file, scratch }: OpenSegment,
  by: ReportKey,
): AsyncGenerator<readonly Line[]> {
  const columns = [by, 'phase', 'decision', 'time', 'duration_us', 'bytes_in', 'bytes_out'];
  for (let index = 0; index < file.batchRows.length; index++) {
    const { data } = await file.readBatch(index, columns, { access: scratch });
    const [key, phase, decision, time, duration, bytesIn, bytesOut] = data.children as [
      Data,
      Data,
      Data,
      Data,
      Data,
      Data,
      Data,
    ];
    yield Array.from({ length: data.length }, (_, row) => ({
      key: wordValues.read(key, row),
      isOutcome: wordValues.read(phase, row) === 'outcome',
      decision: wordValues.read(decision, row)!,
      began: momentValues.read(time, row)! - (int64Values.read(duration, row) ?? 0n),
      bytesIn: int64Values.read(bytesIn, row),
      bytesOut: int64Values.read(bytesOut, row),
    }));
    scratch.reset();
  }
}
