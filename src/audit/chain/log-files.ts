import { basename, dirname, join, resolve } from 'node:path';
import { LocalStorage } from '../../storage/local-storage.ts';
import { readWhole } from '../../storage/open-object.ts';
import { LinkedPath } from '../../storage/plain-path.ts';
import { unlessMissing } from '../../storage/storage-error.ts';
import type { OpenObject } from '../../storage/storage.ts';

const LINES = /^(\d{8})\.jsonl$/;
const SEAL = /^(\d{8})\.seal$/;
const PIECE_BYTES = 4 * 2 ** 20;
const NEWLINE = 0x0a;

/** Storage of the log: the disk on which it is appended. */
export const logStorage = new LocalStorage();

/** A symbolic link, a path behind one, or no plain file, in place of a file of the log. It is not read. */
export class ForeignFile extends Error {
  /** Its content, as the end of a sentence. */
  readonly what: string;

  constructor(path: string, what: string) {
    super(`${path} ${what}: it is not read`);
    this.name = 'ForeignFile';
    this.what = what;
  }
}

/** A part of an instance's log: a file of lines, or a sealed segment. */
export interface LogFile {
  readonly kind: 'lines' | 'segment';
  /** The file of lines, or the Arrow file, which is missing after its retention. */
  readonly path: string;
  /** Path of the segment's seal, which a file of lines does not have. */
  readonly seal: string;
}

/** Folder of the archived policies, beside the folders of instances. */
export const POLICIES_FOLDER = 'policies';

/**
 * Path of a folder without links. Links above a folder of the log belong to the configuration;
 * links below it are not followed.
 */
export async function realFolder(folder: string): Promise<string> {
  const path = resolve(folder);
  return (await unlessMissing(logStorage.resolve(path))) ?? path;
}

/** Instances of an audit folder, in order of their starts; none if the folder is missing. */
export async function instancesOf(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { path, isFolder } of logStorage.entries(await realFolder(folder))) {
    const name = basename(path);
    if (isFolder && name !== POLICIES_FOLDER) names.push(name);
  }
  return names.sort();
}

/** Folder of the copies of archived instances, beside the folder of the log; it has the same layout. */
export function copiesOf(folder: string): string {
  return join(dirname(resolve(folder)), 'audit-copies');
}

/** The same instances, and those of other gateways whose archived log was copied here. */
export async function readableInstancesOf(folder: string): Promise<readonly string[]> {
  const copied = await instancesOf(copiesOf(folder));
  return [...new Set([...(await instancesOf(folder)), ...copied])].sort();
}

/**
 * Parts of an instance's log, in the order in which they were written. Where both exist,
 * the file of lines is used: the segment may be incomplete. An instance that is not in the folder is
 * looked for among the copies.
 */
export async function logFilesOf(folder: string, instance: string): Promise<readonly LogFile[]> {
  let inner = join(await realFolder(folder), instance);
  let names = await logStorage.names(inner);
  if (names === undefined) {
    inner = join(await realFolder(copiesOf(folder)), instance);
    names = (await logStorage.names(inner)) ?? [];
  }
  const lines = new Set(numbersIn(names, LINES));
  const numbers = new Set([...lines, ...numbersIn(names, SEAL)]);
  return [...numbers].sort().map((number) => ({
    kind: lines.has(number) ? 'lines' : 'segment',
    path: join(inner, `${number}.${lines.has(number) ? 'jsonl' : 'arrow'}`),
    seal: join(inner, `${number}.seal`),
  }));
}

/** Path of the segment that a file of lines becomes. */
export function segmentOf(lines: string): string {
  return lines.replace(/jsonl$/, 'arrow');
}

function numbersIn(names: readonly string[], pattern: RegExp): readonly string[] {
  return names.flatMap((name) => pattern.exec(name)?.[1] ?? []);
}

/** Opens a file of the log. @throws ForeignFile; an error that `isMissing` if there is none */
export function openLogFile(path: string): OpenObject {
  try {
    const file = logStorage.open(path);
    if (file.plainSize() !== undefined) return file;
    file.close();
  } catch (error) {
    if (!(error instanceof LinkedPath)) throw error;
    throw new ForeignFile(path, 'is a symbolic link or lies behind one');
  }
  throw new ForeignFile(path, 'is not a plain file');
}

/** Text of a file of the log. @throws as `openLogFile` */
export async function readLogFile(path: string): Promise<string> {
  return (await readWhole(openLogFile(path))).toString();
}

/** Text of a file beside the log, whose folder may be reached through links. @throws as `openLogFile` */
export async function readBeside(path: string): Promise<string> {
  return readLogFile(join(await realFolder(dirname(path)), basename(path)));
}

/** A part of a file of lines. */
export interface LinePiece {
  /** Whole lines with their newlines; the last piece may be the torn beginning of a line. */
  readonly bytes: Buffer;
  /** Whether the piece is a line without a newline. */
  readonly torn: boolean;
}

/**
 * Reads a file of lines in pieces that end with a line. The bytes of a piece are valid until the
 * next is read.
 * @param from Position of the first line.
 * @throws as `openLogFile`
 */
export async function* linePieces(path: string, from = 0): AsyncGenerator<LinePiece> {
  const file = openLogFile(path);
  try {
    let memory = Buffer.allocUnsafe(PIECE_BYTES);
    let begun = 0;
    for (let position = from; ;) {
      if (begun === memory.length) memory = Buffer.concat([memory, Buffer.allocUnsafe(begun)]);
      const read = await file.read(memory.subarray(begun), position);
      if (read === 0) break;
      position += read;
      const filled = begun + read;
      const end = memory.lastIndexOf(NEWLINE, filled - 1) + 1;
      if (end > 0) yield { bytes: memory.subarray(0, end), torn: false };
      memory.copyWithin(0, end, filled);
      begun = filled - end;
    }
    if (begun > 0) yield { bytes: memory.subarray(0, begun), torn: true };
  } finally {
    file.close();
  }
}

/** Whole lines in UTF-8 without their newlines, one list for each piece of a file. @throws as `openLogFile` */
export async function* lineBatches(path: string): AsyncGenerator<readonly string[]> {
  for await (const { bytes, torn } of linePieces(path)) {
    if (!torn) yield bytes.toString('utf8', 0, bytes.length - 1).split('\n');
  }
}
