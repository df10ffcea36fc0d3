import { join } from 'node:path';
import { firstHead, type ChainHead } from './chain/hash-chain.ts';
import { readChain, type HashMarks } from './chain/reader.ts';
import { checkpointText } from './checkpoints/checkpoint.ts';
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

/**
 * Signs the remaining records of killed processes, in every place. A broken chain, or one that
 * ends before a signed head, is not signed: `audit verify` says why. Each instance is examined
 * once.
 * @returns The instances that were signed.
 * @throws the error of a place that cannot be read or written; the next start tries again.
 */
export async function signSurvivors(options: RecoveryOptions): Promise<readonly string[]> {
  const { folder, processes, own } = options;
  await logStorage.folders.make(processes, 0o700);
  const marks = new Set(await logStorage.names(processes));
  const signed: string[] = [];
  let checkpoints: TrustedCheckpoints | undefined;
  for (const instance of await instancesOf(folder)) {
    if (instance === own || marks.has(instance + ENDING)) continue;
    if (!(await isAbandoned(options, instance))) continue;
    checkpoints ??= await checkpointsOf(options);
    if (await signSurvivor(options, instance, checkpoints)) signed.push(instance);
    await logStorage.replace(join(processes, instance + ENDING), Buffer.alloc(0));
  }
  return signed;
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
): Promise<boolean> {
  if (checkpoints.findings.some((finding) => finding.instance === instance)) return false;
  const head = await survivingHead(folder, instance, checkpoints).catch((error: unknown) => {
    if (error instanceof ForeignFile) return undefined;
    throw error;
  });
  if (head === undefined) return false;
  const start = checkpoints.of(instance).at(-1)?.start ?? '';
  const text = checkpointText(key, instance, head, { start, recovered: own });
  for (const place of places) await place.write(instance, text);
  return true;
}

/** Head of a chain with unsigned records; undefined if all are signed, or the chain is broken. */
async function survivingHead(
  folder: string,
  instance: string,
  trusted: TrustedCheckpoints,
): Promise<ChainHead | undefined> {
  const checkpoints = trusted.of(instance);
  const files = await logFilesOf(folder, instance);
  const sealed = files.findLast(({ kind }) => kind === 'segment');
  const from = sealed === undefined ? firstHead(instance) : await headOf(sealed, trusted);
  if (from === undefined) return soundHead(folder, instance, trusted);
  const marks: HashMarks = new Map(checkpoints.map(({ count }) => [count, undefined]));
  let head = from;
  for (const file of files.slice(sealed === undefined ? 0 : files.indexOf(sealed) + 1)) {
    const read = await readChain(file, head, marks);
    if (read.broken !== undefined) return soundHead(folder, instance, trusted);
    head = read.head;
  }
  const after = checkpoints.filter(({ count }) => count > from.count);
  if (after.some(({ count, hash }) => marks.get(count) !== hash)) return undefined;
  const signed = after.at(-1)?.count ?? from.count;
  return head.count > signed ? head : undefined;
}

/** Head of the chain after a segment; undefined if its seal is not valid. */
async function headOf(file: LogFile, { keys }: TrustedCheckpoints): Promise<ChainHead | undefined> {
  const seal = parseSeal(await readLogFile(file.seal));
  return isSealSigned(seal, keys) ? seal.after : undefined;
}
