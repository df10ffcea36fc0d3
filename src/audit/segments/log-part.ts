import { readFile, stat } from 'node:fs/promises';
import { logFilesOf, instancesOf, segmentOf, type LogFile } from '../chain/log-folder.ts';
import { parseSeal, type SegmentSeal } from './seal.ts';

/** A file of the log, with its properties that are known without reading records. */
export interface LogPart {
  readonly instance: string;
  readonly file: LogFile;
  /** Of a segment; what it says is believed, as `audit verify` is there to doubt it. */
  readonly seal?: SegmentSeal;
}

/** The parts of an audit folder that can still be read: instance by instance, each in the order in which it was written. */
export async function logPartsOf(folder: string): Promise<readonly LogPart[]> {
  const parts: LogPart[] = [];
  for (const instance of await instancesOf(folder)) {
    parts.push(...(await partsOfInstance(folder, instance)));
  }
  return parts;
}

/** The parts of one instance. */
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

/** The same part after its file of lines was sealed; undefined while it was not. */
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
