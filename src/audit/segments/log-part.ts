import { RecordFault } from '../record/decoding.ts';
import { StatementFault } from '../signing/statement.ts';
import { isMissing } from '../../storage/storage-error.ts';
import { basename } from 'node:path';
import {
  copiesOf,
  logFilesOf,
  logStorage,
  readableInstancesOf,
  readLogFile,
  segmentOf,
  type LogFile,
} from '../chain/log-files.ts';
import { readDetachedPortions, sealName } from './detached-portions.ts';
import { parseSeal, type SegmentSeal } from './seal.ts';
import { beginSegment, endSegment } from './open-segments.ts';
import type { OpenSegment } from './segment-file.ts';

/** A file of the log and its seal. */
export interface LogPart {
  readonly instance: string;
  readonly file: LogFile;
  /** Seal of a segment. Readers trust it; `audit verify` verifies it. */
  readonly seal?: SegmentSeal;
}

/**
 * Readable parts of an audit folder: instance by instance, in the order in which they were written.
 * Of archived logs it has the segments that were copied here.
 */
export async function logPartsOf(folder: string): Promise<readonly LogPart[]> {
  return (await allPartsOf(folder)).filter(({ file }) => !isOnlyArchived(folder, file));
}

/** The same, and the segments of archived logs that were not copied. */
export async function allPartsOf(folder: string): Promise<readonly LogPart[]> {
  const parts: LogPart[] = [];
  for (const instance of await readableInstancesOf(folder)) {
    parts.push(...(await partsOfInstance(folder, instance)));
  }
  return parts;
}

function isOnlyArchived(folder: string, { kind, path }: LogFile): boolean {
  if (kind === 'lines' || !path.includes(`/${basename(copiesOf(folder))}/`)) return false;
  return logStorage.stat(path) === undefined;
}

/** Readable parts of one instance. */
export async function partsOfInstance(
  folder: string,
  instance: string,
): Promise<readonly LogPart[]> {
  const parts: LogPart[] = [];
  for (const file of await logFilesOf(folder, instance)) {
    if (file.kind === 'lines') {
      parts.push({ instance, file });
      continue;
    }
    const seal = await readSeal(file);
    if (seal.retired === '') parts.push({ instance, file, seal });
  }
  return parts;
}

/** The part after its file of lines was sealed; undefined if it was not. */
export async function sealedPart({ instance, file }: LogPart): Promise<LogPart | undefined> {
  if (file.kind === 'segment' || logStorage.stat(file.path) !== undefined) return undefined;
  const seal = await readSeal(file);
  return { instance, seal, file: { ...file, kind: 'segment', path: segmentOf(file.path) } };
}

/** @throws RecordFault if the seal is damaged. */
async function readSeal({ seal: path }: LogFile): Promise<SegmentSeal> {
  try {
    const seal = parseSeal(await readLogFile(path));
    if (seal.portions !== undefined || seal.retired !== '') return seal;
    return { ...seal, portions: await readDetachedPortions(path) };
  } catch (error) {
    if (!(error instanceof StatementFault)) throw error;
    throw new RecordFault(`the seal ${sealName(path)} is damaged: ${error.message}`);
  }
}

/** Readers of a part's content, as lines or as a segment, which is closed afterwards. */
interface PartReader<Item> {
  readonly lines: (path: string) => AsyncIterable<Item>;
  readonly segment: (segment: OpenSegment) => AsyncIterable<Item>;
}

/** Reads a part. Its lines may have been sealed meanwhile; a segment that was removed has no items. */
export async function* readPart<Item>(
  part: LogPart,
  reader: PartReader<Item>,
): AsyncGenerator<Item> {
  const { kind, path } = part.file;
  try {
    if (kind === 'lines') yield* reader.lines(path);
    else yield* readSegment(path, part.seal?.portions, reader);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const sealed = await sealedPart(part);
    if (sealed !== undefined) yield* readPart(sealed, reader);
  }
}

async function* readSegment<Item>(
  path: string,
  portions: string | undefined,
  reader: PartReader<Item>,
): AsyncGenerator<Item> {
  const segment = await beginSegment(path, portions);
  try {
    yield* reader.segment(segment);
  } finally {
    endSegment(path, segment);
  }
}
