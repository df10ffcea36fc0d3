import { readLines, type FileLine } from '../../src/storage/line-reader.ts';
import {
  logFilesOf,
  instancesOf,
  segmentOf,
  type LogFile,
} from '../../src/audit/chain/log-files.ts';
import { decodeRecord, RecordFault } from '../../src/audit/record/decoding.ts';
import type { LoggedRecord } from '../../src/audit/record/record.ts';
import { recordsOfSegment } from '../../src/audit/segments/segment-file.ts';

/** A line of the log that is not a record, and not merely the torn end of a file. */
export class LogDamage extends Error {
  readonly file: string;
  /** From 1. */
  readonly line: number;

  constructor(file: string, line: number, why: string) {
    super(`${file}:${line}: ${why}`);
    this.name = 'LogDamage';
    this.file = file;
    this.line = line;
  }
}

/**
 * Every record of an audit folder: instance by instance in the order of their
 * starts, each in the order in which it was written. A last line without its
 * newline was torn by a crash, and never confirmed to anybody, or is being
 * written: it is passed over.
 * @throws LogDamage at the first other line that is no record.
 */
export async function* readRecords(folder: string): AsyncGenerator<LoggedRecord> {
  for (const instance of await instancesOf(folder)) {
    for (const file of await logFilesOf(folder, instance)) yield* recordsIn(file);
  }
}

/** A file of lines may have been sealed a moment ago; a segment may have been kept long enough. */
async function* recordsIn(file: LogFile): AsyncGenerator<LoggedRecord> {
  const { kind, path } = file;
  try {
    yield* kind === 'lines' ? recordsOf(path) : recordsOfSegment(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    if (kind === 'lines') yield* recordsIn({ ...file, kind: 'segment', path: segmentOf(path) });
  }
}

async function* recordsOf(file: string): AsyncGenerator<LoggedRecord> {
  for await (const line of readLines(file)) {
    if (line.ended) yield recordOf(file, line);
  }
}

function recordOf(file: string, line: FileLine): LoggedRecord {
  try {
    return decodeRecord(line.bytes.toString());
  } catch (error) {
    if (error instanceof RecordFault) throw new LogDamage(file, line.number, error.message);
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
