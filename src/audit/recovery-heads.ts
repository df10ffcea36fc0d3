import { join } from 'node:path';
import { firstHead, type ChainHead } from './chain/hash-chain.ts';
import { lineOfRecord } from './chain/line-position.ts';
import { readChain } from './chain/reader.ts';
import { checkpointText, type Checkpoint } from './checkpoints/checkpoint.ts';
import type { CheckpointPlace } from './checkpoints/places.ts';
import { isAbandoned, type LogFolders } from './instances/owner.ts';
import {
  ForeignFile,
  instancesOf,
  logFilesOf,
  logStorage,
  readLogFile,
  type LogFile,
} from './chain/log-files.ts';
import { isSealSigned, parseSeal } from './segments/seal.ts';
import type { PublicKey, SigningKey } from './signing/keys.ts';
import { soundHead } from './verification/verification.ts';
import { readTrustedCheckpoints, type TrustedCheckpoints } from './checkpoints/trusted.ts';

/** Suffix of the file that marks an instance as examined. */
const ENDING = '.ended';

export interface RecoveryOptions extends LogFolders {
  /** The instance of this process. */
  readonly own: string;
  readonly key: SigningKey;
  readonly trusted: readonly PublicKey[];
  readonly places: readonly CheckpointPlace[];
}

/** How much of the logs is read now. */
export interface ReadLimits {
  /** Instances with more bytes to read are deferred; none when absent. */
  readonly mostBytes?: number;
  /** Stops the reading after a file. */
  readonly signal?: AbortSignal;
}

/** The result of an examination. */
interface Survivors {
  readonly signed: readonly string[];
  /** Instances with more unsigned records than the limit, which were left as they are. */
  readonly deferred: readonly string[];
  /** Errors of single instances, which are examined again later. */
  readonly failures: readonly unknown[];
}

/**
 * Signs the remaining records of killed processes, in every place. Only the records after the
 * newest signed head are read: that head vouches for those before. If they do not follow from it,
 * or the chain ends before it, nothing is signed: `audit verify` says why. Each instance is
 * examined once.
 * @throws the error of a place that cannot be read; a later call tries again.
 */
export async function signSurvivors(
  options: RecoveryOptions,
  limits: ReadLimits = {},
): Promise<Survivors> {
  const { folder, processes, own } = options;
  await logStorage.folders.make(processes, 0o700);
  const marks = new Set(await logStorage.names(processes));
  const survivors = { signed: [] as string[], deferred: [] as string[], failures: [] as unknown[] };
  let checkpoints: TrustedCheckpoints | undefined;
  for (const instance of await instancesOf(folder)) {
    if (instance === own || marks.has(instance + ENDING)) continue;
    if (!(await isAbandoned(options, instance))) continue;
    checkpoints ??= await checkpointsOf(options);
    try {
      const result = await signSurvivor(options, instance, checkpoints, limits);
      if (result === 'deferred') survivors.deferred.push(instance);
      else await logStorage.replace(join(processes, instance + ENDING), Buffer.alloc(0));
      if (result === 'signed') survivors.signed.push(instance);
    } catch (error) {
      limits.signal?.throwIfAborted();
      survivors.failures.push(error);
    }
  }
  return survivors;
}

/** @throws Error if a place cannot be read: a chain is never signed without its checkpoints. */
async function checkpointsOf({ places, trusted }: RecoveryOptions): Promise<TrustedCheckpoints> {
  const checkpoints = await readTrustedCheckpoints(places, trusted);
  const unread = checkpoints.findings.find(({ kind }) => kind === 'not asked');
  if (unread !== undefined) throw new Error(`${unread.instance}: ${unread.text}`);
  return checkpoints;
}

async function signSurvivor(
  { folder, own, key, places }: RecoveryOptions,
  instance: string,
  checkpoints: TrustedCheckpoints,
  { mostBytes = Number.POSITIVE_INFINITY, signal }: ReadLimits,
): Promise<'signed' | 'unsigned' | 'deferred'> {
  if (checkpoints.findings.some((finding) => finding.instance === instance)) return 'unsigned';
  const tail = await tailOf(folder, instance, checkpoints);
  if (tail === undefined) return 'unsigned';
  if (tail.bytes > mostBytes) return 'deferred';
  let head = await survivingHead(tail, signal);
  // Perhaps a file ends with records that were never confirmed: the whole chain says more.
  if (head === 'broken' && tail.chainBytes > mostBytes) return 'deferred';
  if (head === 'broken') head = await soundHead(folder, instance, checkpoints);
  if (head === undefined) return 'unsigned';
  const start = checkpoints.of(instance).at(-1)?.start ?? '';
  const text = checkpointText(key, instance, head, { start, recovered: own });
  for (const place of places) await place.write(instance, text);
  return 'signed';
}

/** The lines of an instance after its newest signed head. */
interface UnsignedTail {
  readonly signed: ChainHead;
  readonly files: readonly LogFile[];
  /** Position of the first of the lines in the first file. */
  readonly position: number;
  /** Size of the lines, and of the whole log of the instance. */
  readonly bytes: number;
  readonly chainBytes: number;
}

/** Undefined if a file was replaced by a link, a seal is not valid, or the signed head is not in the log. */
async function tailOf(
  folder: string,
  instance: string,
  trusted: TrustedCheckpoints,
): Promise<UnsignedTail | undefined> {
  try {
    const files = await logFilesOf(folder, instance);
    const sealed = files.findLast(({ kind }) => kind === 'segment');
    const from = sealed === undefined ? firstHead(instance) : await headOf(sealed, trusted);
    const lines = sealed === undefined ? files : files.slice(files.indexOf(sealed) + 1);
    const start = from && (await startAfter(from, lines, trusted.of(instance).at(-1)));
    if (start === undefined) return undefined;
    const chainBytes = sizeOf(files);
    return { ...start, bytes: sizeOf(start.files) - start.position, chainBytes };
  } catch (error) {
    if (error instanceof ForeignFile) return undefined;
    throw error;
  }
}

/** The place after the newest signed head. @param from Head before the files of lines. */
async function startAfter(
  from: ChainHead,
  files: readonly LogFile[],
  newest: Checkpoint | undefined,
): Promise<Pick<UnsignedTail, 'signed' | 'files' | 'position'> | undefined> {
  if (newest === undefined || newest.count <= from.count)
    return { signed: from, files, position: 0 };
  const { instance, count, hash } = newest;
  const line = await lineOfRecord(files, instance, count);
  if (line?.hash !== hash) return undefined;
  return {
    signed: { count, hash },
    files: files.slice(files.indexOf(line.file)),
    position: line.next,
  };
}

function sizeOf(files: readonly LogFile[]): number {
  return files.reduce((sum, { path }) => sum + (logStorage.stat(path)?.bytes ?? 0), 0);
}

/** Head of a chain with unsigned records; undefined if all are signed. */
async function survivingHead(
  { signed, files, position }: UnsignedTail,
  signal: AbortSignal | undefined,
): Promise<ChainHead | 'broken' | undefined> {
  let head = signed;
  for (const [at, file] of files.entries()) {
    signal?.throwIfAborted();
    const read = await readChain(file, head, new Map(), at === 0 ? position : 0);
    if (read.broken !== undefined) return 'broken';
    head = read.head;
  }
  return head.count > signed.count ? head : undefined;
}

/** Head of the chain after a segment; undefined if its seal is not valid. */
async function headOf(file: LogFile, { keys }: TrustedCheckpoints): Promise<ChainHead | undefined> {
  const seal = parseSeal(await readLogFile(file.seal));
  return isSealSigned(seal, keys) ? seal.after : undefined;
}
