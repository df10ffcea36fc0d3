import { readFile } from 'node:fs/promises';
import type { DecidedRequest } from './request.ts';
import { linePieces } from '../chain/line-pieces.ts';
import { logFilesOf, instancesOf, segmentOf, type LogFile } from '../chain/log-folder.ts';
import { isAbsent } from '../segments/log-part.ts';
import { RequestLine } from './line.ts';
import { requestColumns, requestsOfBatch } from './row.ts';
import { parseSeal } from '../segments/seal.ts';
import { openSegment } from '../segments/segment-file.ts';

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
  for (const instance of await instancesOf(folder)) {
    for (const file of await logFilesOf(folder, instance)) {
      for await (const records of recordsIn(file, period)) {
        const ended = records.filter((record) => halves.isEnd(record));
        yield ended.filter((record) => isWithin(record, period));
      }
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

/** A file of lines may have been sealed a moment ago; a segment may have been kept long enough. */
async function* recordsIn(file: LogFile, period: Period): AsyncGenerator<Requests> {
  const { kind, path, seal } = file;
  try {
    if (kind === 'lines') yield* recordsOfLines(path);
    else if (await mayHold(seal, period)) yield* recordsOfSegment(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    if (kind === 'lines')
      yield* recordsIn({ ...file, kind: 'segment', path: segmentOf(path) }, period);
  }
}

async function mayHold(path: string, { since, until }: Period): Promise<boolean> {
  if (since === undefined && until === undefined) return true;
  const { from, to } = parseSeal(await readFile(path, 'utf8'));
  return (since === undefined || to >= since) && (until === undefined || from < until);
}

async function* recordsOfLines(path: string): AsyncGenerator<Requests> {
  for await (const { bytes, torn } of linePieces(path)) {
    if (torn) continue;
    const lines = bytes.toString().split('\n');
    lines.pop();
    yield lines.map((line) => new RequestLine(line));
  }
}

async function* recordsOfSegment(path: string): AsyncGenerator<Requests> {
  const segment = await openSegment(path);
  try {
    for (let index = 0; index < segment.file.batchRows.length; index++) {
      yield requestsOfBatch(await segment.file.readBatch(index, requestColumns));
    }
  } finally {
    await segment.close();
  }
}
