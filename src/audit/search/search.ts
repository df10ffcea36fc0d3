import { Field, Schema, type RecordBatch } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { momentValues } from '../../arrow/value-column.ts';
import { batchOfRecords, recordFields } from '../record/columns.ts';
import { LinesSearch, type Candidate } from './lines.ts';
import { logPartsOf, readPart, type LogPart } from '../segments/log-part.ts';
import { mergeOrdered } from './merge.ts';
import type { LoggedRecord } from '../record/record.ts';
import { findsAttempts, isInWindow, matches, type RequestFilter } from './filter.ts';
import type { OpenSegment } from '../segments/segment-file.ts';
import { SegmentSearch } from './segments.ts';
import { microsOf, timeOf } from '../record/time.ts';

/** A request: its outcome, or its attempt while there is no outcome. */
export interface FoundRequest {
  readonly record: LoggedRecord;
  /** Time of its attempt. */
  readonly began: string;
}

const recordSchema = new Schema([...recordFields]);

/** Columns of requests as a table: the arrival, and the columns of the record. */
export const requestSchema = new Schema([
  new Field('began', momentValues.type, false),
  ...recordFields,
]);

/** Requests as a batch of `requestSchema`. */
export function batchOfRequests(requests: readonly FoundRequest[]): RecordBatch {
  const records = requests.map(({ record }) => record);
  const began = momentValues.data(requests.map((request) => microsOf(request.began)));
  const { children } = batchOfRecords(recordSchema, records).data;
  return batchOfData(requestSchema, [began, ...children], requests.length);
}

/** Duration of requests, in microseconds, up to which outcomes are found in the first pass. */
const SLACK_MICROS = 600_000_000n;

/**
 * Searches the requests of an audit folder, each once, in the order of their outcomes; requests that end
 * during the search and requests without an outcome come last. Segments are skipped by the times of their seals.
 * @throws RecordFault, StatementFault, ArrowError if the log is damaged.
 */
export async function* searchRequests(
  folder: string,
  filter: RequestFilter,
): AsyncGenerator<readonly FoundRequest[]> {
  const search = new RequestSearch(filter);
  const parts = await logPartsOf(folder);
  const near = parts.filter((part) => isNear(part, filter));
  const instances = new Set(near.map(({ instance }) => instance));
  const streams = [...instances].map((instance) => ({
    from: startOf(instance),
    batches: () => search.look(near.filter((part) => part.instance === instance)),
  }));
  yield* mergeOrdered(streams, ({ record }) => record.time);
  for (const part of parts) {
    if (!near.includes(part)) yield* search.lookAgain(part);
  }
  for (const part of near) yield* search.answeredMeanwhile(part);
  yield* search.unanswered();
}

/** Whether a part may hold records of the window. */
function isNear({ seal }: LogPart, { since, until }: RequestFilter): boolean {
  if (seal === undefined) return true;
  const isLate = until !== undefined && microsOf(seal.from) >= until + SLACK_MICROS;
  return !isLate && (since === undefined || microsOf(seal.to) >= since);
}

/** Start of an instance, by its name; no record is older. */
function startOf(instance: string): string {
  const digits = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(instance);
  if (digits === null) return '';
  const [, year, month, day, hour, minute, second] = digits;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}`;
}

interface OpenAttempt {
  readonly part: LogPart;
  readonly began: bigint;
}

class RequestSearch {
  readonly #filter: RequestFilter;
  readonly #segments: SegmentSearch;
  readonly #lines: LinesSearch;
  /** Attempts without an outcome yet, by decision. */
  readonly #open = new Map<string, OpenAttempt>();

  constructor(filter: RequestFilter) {
    this.#filter = filter;
    this.#segments = new SegmentSearch(filter);
    this.#lines = new LinesSearch(filter);
  }

  /** Requests with outcomes in some parts. */
  async *look(parts: readonly LogPart[]): AsyncGenerator<readonly FoundRequest[]> {
    for (const part of parts) {
      for await (const candidates of this.#candidates(part)) {
        const found = await this.#answered(candidates, part);
        if (found.length > 0) yield found;
      }
    }
  }

  /** Requests of open attempts with outcomes in a part that was skipped. */
  async *lookAgain(part: LogPart): AsyncGenerator<readonly FoundRequest[]> {
    for await (const candidate of this.#outcomes(part)) {
      if (!this.#open.delete(candidate.decisionId)) continue;
      const found = await this.#found(candidate);
      if (found.length > 0) yield found;
    }
  }

  /**
   * Drops open attempts with outcomes in a part that was read: those that do not match although their
   * attempts do, and those of a later instance, which may have been read before their attempts.
   * @returns Requests that ended since the part was read.
   */
  async *answeredMeanwhile(part: LogPart): AsyncGenerator<readonly FoundRequest[]> {
    for await (const candidate of this.#outcomes(part)) {
      const attempt = this.#open.get(candidate.decisionId);
      this.#open.delete(candidate.decisionId);
      // The instance of the attempt wrote the outcome behind it, so a match would have been found before.
      const isNew = attempt?.part.instance === part.instance;
      if (!isNew || !isInWindow(this.#filter, candidate.began)) continue;
      const found = await this.#found(candidate);
      if (found.length > 0) yield found;
    }
  }

  /** Requests without an outcome. Their parts are read again; an outcome that came since is not shown beside its attempt. */
  async *unanswered(): AsyncGenerator<readonly FoundRequest[]> {
    const parts = new Set([...this.#open.values()].map(({ part }) => part));
    for (const part of parts) {
      for await (const candidates of this.#candidates(part)) {
        const found: FoundRequest[] = [];
        for (const candidate of candidates) {
          const isOpen = candidate.phase === 'attempt' && this.#open.has(candidate.decisionId);
          if (isOpen) found.push(...(await this.#found(candidate)));
        }
        if (found.length > 0) yield found;
      }
    }
  }

  async #answered(
    candidates: readonly Candidate[],
    part: LogPart,
  ): Promise<readonly FoundRequest[]> {
    const found: FoundRequest[] = [];
    for (const candidate of candidates) {
      const { phase, decisionId, began } = candidate;
      if (phase === 'outcome') {
        this.#open.delete(decisionId);
        found.push(...(await this.#found(candidate)));
      } else if (findsAttempts(this.#filter)) this.#open.set(decisionId, { part, began });
    }
    return found;
  }

  async #found(candidate: Candidate): Promise<readonly FoundRequest[]> {
    const record = await candidate.load();
    return matches(this.#filter, record) ? [{ record, began: timeOf(candidate.began) }] : [];
  }

  /** Whether a part may hold the outcome of an open attempt, which follows it in its own instance. */
  #mayAnswer(part: LogPart): boolean {
    const to = part.seal === undefined ? undefined : microsOf(part.seal.to);
    return [...this.#open.values()].some(({ part: own, began }) => {
      const isLater = own.instance !== part.instance || own.file.path <= part.file.path;
      return isLater && (to === undefined || began <= to);
    });
  }

  #candidates(part: LogPart): AsyncGenerator<readonly Candidate[]> {
    return readPart(part, {
      lines: (path) => this.#lines.candidates(path),
      segment: (segment) => this.#segments.candidates(segment),
    });
  }

  /** Outcomes of open attempts in a part. */
  async *#outcomes(part: LogPart): AsyncGenerator<Candidate> {
    if (!this.#mayAnswer(part)) return;
    const reader = {
      lines: (path: string) => this.#lines.outcomes(path, this.#open),
      segment: (segment: OpenSegment) => this.#segments.outcomes(segment, this.#open),
    };
    for await (const candidates of readPart(part, reader)) yield* candidates;
  }
}
