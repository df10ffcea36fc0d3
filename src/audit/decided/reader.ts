import type { DecidedRequest } from './request.ts';
import { lineBatches } from '../chain/log-files.ts';
import { logPartsOf, readPart, type LogPart } from '../segments/log-part.ts';
import { RequestLine } from './line.ts';
import { requestColumns, requestsOfBatch } from './row.ts';
import { batchesOfSegment, type OpenSegment } from '../segments/segment-file.ts';

/** A period of time; an absent bound is open. RFC 3339 in UTC with microseconds. */
export interface Period {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

type Requests = readonly DecidedRequest[];

/**
 * Reads every request of an audit folder with a record in the period, once: its outcome, or
 * its attempt if there is no outcome. Yields batches, instance by instance; requests without
 * an outcome come last.
 */
export async function* readRequests(folder: string, period: Period = {}): AsyncGenerator<Requests> {
  const halves = new Halves();
  for (const part of await logPartsOf(folder)) {
    if (!mayHold(part, period)) continue;
    for await (const records of readPart(part, reader)) {
      const ended = records.filter((record) => halves.isEnd(record));
      yield ended.filter((record) => isWithin(record, period));
    }
  }
  yield halves.unanswered().filter((record) => isWithin(record, period));
}

/** Matches attempts and outcomes, which may be in different instances. */
class Halves {
  readonly #attempts = new Map<string, DecidedRequest>();
  /** Decisions whose outcome was read before their attempt. */
  readonly #early = new Set<string>();

  isEnd(record: DecidedRequest): boolean {
    const { phase, decisionId } = record;
    if (phase === 'outcome') {
      if (!this.#attempts.delete(decisionId)) this.#early.add(decisionId);
      return true;
    }
    if (!this.#early.delete(decisionId)) this.#attempts.set(decisionId, record);
    return false;
  }

  unanswered(): Requests {
    return [...this.#attempts.values()];
  }
}

function isWithin({ time }: DecidedRequest, { since, until }: Period): boolean {
  if (since === undefined && until === undefined) return true;
  return (since === undefined || time >= since) && (until === undefined || time < until);
}

function mayHold({ seal }: LogPart, { since, until }: Period): boolean {
  if (seal === undefined) return true;
  return (since === undefined || seal.to >= since) && (until === undefined || seal.from < until);
}

const reader = { lines: requestsOfLines, segment: requestsOfSegment };

async function* requestsOfLines(path: string): AsyncGenerator<Requests> {
  for await (const lines of lineBatches(path)) {
    yield lines.map((line) => new RequestLine(line));
  }
}

async function* requestsOfSegment(segment: OpenSegment): AsyncGenerator<Requests> {
  for await (const batch of batchesOfSegment(segment, requestColumns)) yield requestsOfBatch(batch);
}
