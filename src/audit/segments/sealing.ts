import { basename, dirname } from 'node:path';
import { firstHead, type ChainHead } from '../chain/hash-chain.ts';
import {
  instancesOf,
  logFilesOf,
  logStorage,
  readLogFile,
  segmentOf,
  type LogFile,
} from '../chain/log-files.ts';
import { detachedPortionsOf } from './detached-portions.ts';
import { parseSeal, sealText, type SegmentSeal } from './seal.ts';
import { UnfitSegment, type writeSegment } from './segment-file.ts';
import type { SigningKey } from '../signing/keys.ts';

export interface SealingOptions {
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** Instance of this process, which still writes its last file. */
  readonly own: string;
  readonly key: SigningKey;
  /** Time without a write after which another instance's last file counts as finished, in ms. */
  readonly staleMillis: number;
  /** Retention: segments whose records are all older are removed, in ms. */
  readonly retainMillis: number;
  /** Whether a segment may be removed after its retention: an archive has it; all may when absent. */
  readonly mayRetire?: (instance: string, file: LogFile) => boolean;
  /** Whether another process that runs seals the files of an instance; none does when absent. */
  readonly isOthers?: (instance: string) => Promise<boolean>;
  /**
   * Writes a segment's file, here or on a thread.
   * @param waiting Number of further finished files of the instance.
   */
  readonly write: (
    ...segment: [...Parameters<typeof writeSegment>, waiting: number]
  ) => ReturnType<typeof writeSegment>;
}

/** The result of a sealing run. */
export interface SealingRun {
  /** Files of lines that became segments. */
  readonly sealed: number;
  /** Segments that were removed after their retention. */
  readonly retired: number;
  /** Files with a broken chain, which cannot be sealed: see `audit verify`. */
  readonly unfit: readonly string[];
  /** Errors that prevented the sealing of an instance; other instances are not affected. */
  readonly failures: readonly unknown[];
}

/**
 * Seals finished files of lines as Arrow files, and removes segments after their
 * retention. At any moment the lines or the sealed segment exist, so a crash loses
 * nothing and the next run continues.
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
  for (const [at, file] of files.entries()) {
    const seal = await sealOf(options, { instance, file, head, after: files.length - at - 1 });
    if (seal === undefined) return;
    if (seal === 'unfit') {
      done.unfit.push(file.path);
      return;
    }
    if (file.kind === 'lines') done.sealed += 1;
    const mayRetire = options.mayRetire?.(instance, file) !== false;
    if (mayRetire && (await retire(options, file, seal))) done.retired += 1;
    head = seal.after;
  }
}

interface Place {
  readonly instance: string;
  readonly file: LogFile;
  /** Head of the chain before the file. */
  readonly head: ChainHead;
  /** Number of files after it. */
  readonly after: number;
}

/** Seal of a part, which is sealed now if it is finished; undefined while it may get records. */
async function sealOf(
  options: SealingOptions,
  place: Place,
): Promise<SegmentSeal | 'unfit' | undefined> {
  const { file } = place;
  if (file.kind === 'segment') return parseSeal(await readLogFile(file.seal));
  if (!(await isFinished(options, place))) return undefined;
  try {
    return await seal(options, place);
  } catch (error) {
    if (error instanceof UnfitSegment) return 'unfit';
    throw error;
  }
}

async function isFinished(
  { own, staleMillis, isOthers }: SealingOptions,
  { instance, file, after }: Place,
): Promise<boolean> {
  if (instance === own) return after > 0;
  const written = logStorage.stat(file.path)?.writtenMillis ?? Date.now();
  if (after === 0 && Date.now() - written <= staleMillis) return false;
  return (await isOthers?.(instance)) !== true;
}

async function seal(
  { folder, key, write }: SealingOptions,
  { instance, file, head }: Place,
): Promise<SegmentSeal> {
  const path = segmentOf(file.path);
  // Others were finished since the run began.
  const later = (await logFilesOf(folder, instance)).filter((each) => each.path > file.path);
  const written = await write(file.path, path, head, Math.max(0, later.length - 1));
  const text = sealText(key, { instance, file: basename(path), before: head, ...written });
  await replaceSeal(file, text, file.path);
  return parseSeal(text);
}

async function retire(
  { key, retainMillis }: SealingOptions,
  file: LogFile,
  seal: SegmentSeal,
): Promise<boolean> {
  const now = Date.now();
  if (seal.retired !== '' || now - Date.parse(seal.to) <= retainMillis) return false;
  const text = sealText(key, seal, new Date(now).toISOString());
  await replaceSeal(file, text, segmentOf(file.path));
  logStorage.discard(detachedPortionsOf(file.seal));
  return true;
}

/** Writes a seal, and then removes the file that is no longer needed. */
async function replaceSeal(file: LogFile, text: string, unneeded: string): Promise<void> {
  await logStorage.replace(file.seal, Buffer.from(text));
  logStorage.discard(unneeded);
  await logStorage.flush(dirname(file.path));
}
