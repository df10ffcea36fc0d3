import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { crc32 } from '@node-rs/crc32';
import { isMissing } from '../../storage/storage-error.ts';
import { RecordFault } from '../record/decoding.ts';
import { StatementFault } from '../signing/statement.ts';
import {
  instancesOf,
  logFilesOf,
  logStorage,
  openLogFile,
  readLogFile,
  segmentOf,
  type LogFile,
} from '../chain/log-files.ts';
import { checksumText, SegmentSums } from './portions.ts';
import { parseSeal, type SegmentSeal } from './seal.ts';

/** Number of bytes that are read at once. */
const READ_BYTES = 2 ** 20;

/** Name of a seal's file from the audit folder on, for errors. */
export function sealName(path: string): string {
  return join(basename(dirname(path)), basename(path));
}

/** Path of the checksums of a segment whose seal has none: that of the seal, with another ending. */
export function detachedPortionsOf(seal: string): string {
  return seal.replace(/seal$/, 'portions');
}

/** The CRC-32 of the text and of the place that it belongs to. */
function checksumOf(seal: string, portions: string): string {
  return checksumText(crc32(`${sealName(seal)} ${portions}`));
}

/**
 * The checksums of a segment that was sealed before seals had them. They are made once, by an
 * upgrade of the data folder.
 * @throws RecordFault if there are none, or they are damaged
 */
export async function readDetachedPortions(seal: string): Promise<string> {
  const name = sealName(seal);
  try {
    const [checksum, portions] = (await readLogFile(detachedPortionsOf(seal))).trimEnd().split(' ');
    if (portions !== undefined && checksum === checksumOf(seal, portions)) return portions;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new RecordFault(`the seal ${name} is damaged: it has no checksums of its segment`);
  }
  throw new RecordFault(`the checksums of ${name} are damaged`);
}

export interface OlderSegmentOptions {
  readonly folder: string;
  /** Called after each read with its number of bytes. */
  readonly read: (bytes: number) => Promise<void>;
  /** Called with a segment that is not what its seal says: it gets no checksums. */
  readonly damaged: (path: string, error: unknown) => void;
}

/**
 * Gives the segments that were sealed without checksums of their portions a file with them.
 * @returns Number of files that were made.
 */
export async function sealOlderSegments(options: OlderSegmentOptions): Promise<number> {
  let made = 0;
  for (const instance of await instancesOf(options.folder)) {
    for (const file of await logFilesOf(options.folder, instance)) {
      if (file.kind === 'lines') continue;
      try {
        made += (await sealOlder(options, file)) ? 1 : 0;
      } catch (error) {
        options.damaged(file.path, error);
      }
    }
  }
  return made;
}

async function sealOlder({ read }: OlderSegmentOptions, file: LogFile): Promise<boolean> {
  const path = detachedPortionsOf(file.seal);
  const seal = parseSeal(await readLogFile(file.seal));
  if (seal.portions !== undefined || seal.retired !== '') return false;
  if (logStorage.stat(path) !== undefined) return false;
  const portions = await portionsOf(segmentOf(file.path), seal, read);
  await logStorage.replace(path, Buffer.from(`${checksumOf(file.seal, portions)} ${portions}\n`));
  return true;
}

async function portionsOf(
  path: string,
  seal: SegmentSeal,
  read: OlderSegmentOptions['read'],
): Promise<string> {
  const file = openLogFile(path);
  try {
    const [sums, digest, memory] = [
      new SegmentSums(),
      createHash('sha256'),
      Buffer.alloc(READ_BYTES),
    ];
    for (let offset = 0; ;) {
      const bytes = memory.subarray(0, await file.read(memory, offset));
      if (bytes.length === 0) break;
      sums.add(bytes);
      digest.update(bytes);
      offset += bytes.length;
      await read(bytes.length);
    }
    if (digest.digest('hex') === seal.sha256) return sums.text();
    throw new StatementFault('the bytes of the segment are not those that were sealed');
  } finally {
    file.close();
  }
}
