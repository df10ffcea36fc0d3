import { readFile, stat } from 'node:fs/promises';
import { logFilesOf, instancesOf, segmentOf, type LogFile } from '../chain/log-folder.ts';
import { parseSeal, type SegmentSeal } from './seal.ts';

/** A file of the log and its seal. */
export interface LogPart {
  readonly instance: string;
  readonly file: LogFile;
  /** Seal of a segment. Readers trust it; `audit verify` verifies it. */
  readonly seal?: SegmentSeal;
}

/** Readable parts of an audit folder: instance by instance, in the order in which they were written. */
export async function logPartsOf(folder: string): Promise<readonly LogPart[]> {
  const parts: LogPart[] = [];
  for (const instance of await instancesOf(folder)) {
    parts.push(...(await partsOfInstance(folder, instance)));
  }
  return parts;
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
    const seal = parseSeal(await readFile(file.seal, 'utf8'));
    if (seal.retired === '') parts.push({ instance, file, seal });
  }
  return parts;
}

/** The part after its file of lines was sealed; undefined if it was not. */
export async function sealedPart({ instance, file }: LogPart): Promise<LogPart | undefined> {
  if (file.kind === 'segment' || (await exists(file.path))) return undefined;
  const seal = parseSeal(await readFile(file.seal, 'utf8'));
  return { instance, seal, file: { ...file, kind: 'segment', path: segmentOf(file.path) } };
}

/** Whether an error means that a file does not exist. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (isAbsent(error)) return false;
      throw error;
    },
  );
}
