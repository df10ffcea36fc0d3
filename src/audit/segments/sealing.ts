import { readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { syncFolder } from '../../storage/folder.ts';
import { replaceText } from '../../storage/replaced-file.ts';
import { firstHead, type ChainHead } from '../chain/hash-chain.ts';
import { logFilesOf, instancesOf, segmentOf, type LogFile } from '../chain/log-folder.ts';
import { parseSeal, sealText, type SegmentSeal } from './seal.ts';
import { UnfitSegment, type writeSegment } from './segment-file.ts';
import type { SigningKey } from '../signing/keys.ts';

export interface SealingOptions {
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** The instance of this process, whose last file is still written. */
  readonly own: string;
  readonly key: SigningKey;
  /** Age after which another instance's file counts as finished, in milliseconds without a write. */
  readonly staleMillis: number;
  /** Segments whose records are all older are removed, in milliseconds. */
  readonly retainMillis: number;
  /** Makes a segment's file: here, or on a thread. */
  readonly write: typeof writeSegment;
}

/** The result of a sealing run. */
export interface SealingRun {
  /** Files of lines that became segments. */
  readonly sealed: number;
  /** Segments that were removed since they were kept long enough. */
  readonly retired: number;
  /** Files that cannot be sealed because their chain is broken: see `audit verify`. */
  readonly unfit: readonly string[];
  /** Errors that prevented the check of whole instances; other instances are not affected. */
  readonly failures: readonly unknown[];
}

/**
 * Makes Arrow files of the files of lines that get no further record, and
 * removes what was kept long enough. At any moment either the lines or the
 * sealed segment are there, so that a crash loses nothing and the next run continues.
 */
export async function sealFinished(options: SealingOptions): Promise<SealingRun> {
  const done: Done = { sealed: 0, retired: 0, unfit: [], failures: [] };
  for (const instance of await instancesOf(options.folder)) {
    await sealInstance(options, instance, done).catch((error: unknown) => {
      done.failures.push(error);
    });
  }
  return done;
}

interface Done extends SealingRun {
  sealed: number;
  retired: number;
  readonly unfit: string[];
  readonly failures: unknown[];
}

async function sealInstance(options: SealingOptions, instance: string, done: Done): Promise<void> {
  let head = firstHead(instance);
  const files = await logFilesOf(options.folder, instance);
  for (const file of files) {
    const seal = await sealOf(options, { instance, file, head, isLast: file === files.at(-1) });
    if (seal === undefined) return;
    if (seal === 'unfit') {
      done.unfit.push(file.path);
      return;
    }
    if (file.kind === 'lines') done.sealed += 1;
    if (await retire(options, file, seal)) done.retired += 1;
    head = seal.after;
  }
}

interface Place {
  readonly instance: string;
  readonly file: LogFile;
  /** Where the chain stands before it. */
  readonly head: ChainHead;
  readonly isLast: boolean;
}

/** The seal of a part of the log, which is made if it can be; undefined while lines may still come. */
async function sealOf(
  options: SealingOptions,
  place: Place,
): Promise<SegmentSeal | 'unfit' | undefined> {
  const { file } = place;
  if (file.kind === 'segment') return parseSeal(await readFile(file.seal, 'utf8'));
  if (!(await isFinished(options, place))) return undefined;
  try {
    return await seal(options, place);
  } catch (error) {
    if (error instanceof UnfitSegment) return 'unfit';
    throw error;
  }
}

async function isFinished(
  { own, staleMillis }: SealingOptions,
  { instance, file, isLast }: Place,
): Promise<boolean> {
  if (!isLast) return true;
  if (instance === own) return false;
  const { mtimeMs } = await stat(file.path);
  return Date.now() - mtimeMs > staleMillis;
}

async function seal({ key, write }: SealingOptions, place: Place): Promise<SegmentSeal> {
  const { instance, file, head } = place;
  const path = segmentOf(file.path);
  const written = await write(file.path, path, head);
  const text = sealText(key, { instance, file: basename(path), before: head, ...written });
  await replaceText(file.seal, text);
  await rm(file.path, { force: true });
  await syncFolder(dirname(path));
  return parseSeal(text);
}

async function retire(
  { key, retainMillis }: SealingOptions,
  file: LogFile,
  seal: SegmentSeal,
): Promise<boolean> {
  const now = Date.now();
  if (seal.retired !== '' || now - Date.parse(seal.to) <= retainMillis) return false;
  await replaceText(file.seal, sealText(key, seal, new Date(now).toISOString()));
  await rm(segmentOf(file.path), { force: true });
  await syncFolder(dirname(file.path));
  return true;
}
