import type { AuditFinding, Tampering } from './chain/audit-finding.ts';
import { readLines } from '../storage/line-reader.ts';
import { hashAfter, tailOf, TAIL_LENGTH, type ChainHead } from './chain/chain.ts';
import type { BrokenLine } from './chain/chain-reader.ts';
import type { LogFile } from './chain/log-folder.ts';
import { ArrowError } from '../arrow/arrow-error.ts';
import { int64 } from '../arrow/value-column.ts';
import { isAbsent } from './segments/log-part.ts';
import { RecordFault } from './record/record-decoding.ts';
import { openSegment } from './segments/segment-file.ts';

/** How a line of the log begins; the instance is not looked at. */
const PLACE = /^(\{"instance":"[^"]*","sequence":)(\d{1,19}),/;
const PLACE_LENGTH = 200;

/** A manipulation of a record, as a sentence. */
export interface Judged {
  readonly kind: Tampering;
  readonly text: string;
}

/** The first record that does not follow from the one before it. */
export interface BrokenRecord {
  /** The files of its instance. */
  readonly files: readonly LogFile[];
  /** The number that belongs there. */
  readonly expected: bigint;
  /** The number that it gives itself; it may lie, or not be one. */
  readonly found: bigint | undefined;
  /** Whether it would follow if it gave itself the number that belongs there. */
  readonly followsAsExpected: () => boolean;
  /** The number that the record behind it gives itself. */
  readonly next: () => Promise<bigint | undefined>;
}

/** Explains the first line that does not follow from its predecessor. */
export async function describeBreak(
  instance: string,
  files: readonly LogFile[],
  head: ChainHead,
  broken: BrokenLine,
): Promise<AuditFinding> {
  const expected = head.count + 1n;
  const { file, line, bytes } = broken;
  const { kind, text } = await judgeBreak({
    files,
    expected,
    found: placeOf(bytes),
    followsAsExpected: () => follows(head, bytes.toString('latin1')),
    next: () => placeAt(file, line + 1),
  });
  return { kind, instance, file: file.path, line, sequence: expected, text };
}

/** Tells a record that was edited from one that stands where another was removed, or that was moved. */
export async function judgeBreak(broken: BrokenRecord): Promise<Judged> {
  const { files, expected, found } = broken;
  const edited: Judged = { kind: 'edited', text: `record ${expected} was edited` };
  if (found === undefined || found === expected || broken.followsAsExpected()) return edited;
  const moved: Judged = {
    kind: 'reordered',
    text: `record ${found} stands where ${expected} belongs`,
  };
  if (await holds(files, expected)) return moved;
  if ((await broken.next()) === expected + 1n) return edited;
  if (found < expected) return moved;
  return { kind: 'removed', text: removedText(expected, found - 1n) };
}

/** That the records from one to another are gone. */
export function removedText(first: bigint, last: bigint): string {
  return first === last
    ? `record ${first} was removed`
    : `records ${first} to ${last} were removed`;
}

/** Whether a line follows once it has the number that belongs there. */
function follows({ count, hash }: ChainHead, line: string): boolean {
  const numbered = line.replace(PLACE, `$1${count + 1n},`);
  const fields = numbered.slice(0, -TAIL_LENGTH);
  return numbered === fields + tailOf(hashAfter(hash, Buffer.from(fields, 'latin1')));
}

/** Which record stands in a line of a file. */
async function placeAt(file: LogFile, line: number): Promise<bigint | undefined> {
  for await (const { number, bytes } of readLines(file.path)) {
    if (number === line) return placeOf(bytes);
  }
  return undefined;
}

/** Whether the record stands anywhere. */
async function holds(files: readonly LogFile[], sequence: bigint): Promise<boolean> {
  for (const file of files) {
    if (await holdsIn(file, sequence)) return true;
  }
  return false;
}

async function holdsIn({ kind, path }: LogFile, sequence: bigint): Promise<boolean> {
  if (kind === 'segment') return segmentHolds(path, sequence);
  for await (const { bytes } of readLines(path)) if (placeOf(bytes) === sequence) return true;
  return false;
}

async function segmentHolds(path: string, sequence: bigint): Promise<boolean> {
  try {
    return (await numbersOfSegment(path)).includes(sequence);
  } catch (error) {
    // An unreadable file does not prove that the record exists.
    if (isDamage(error)) return false;
    throw error;
  }
}

/** The number that a line gives its record; it may lie. */
export function placeOf(line: Buffer): bigint | undefined {
  const digits = PLACE.exec(line.toString('latin1', 0, PLACE_LENGTH))?.[2];
  return digits === undefined ? undefined : BigInt(digits);
}

/** The numbers that the records of a segment give themselves, in the order in which they stand. */
export async function numbersOfSegment(path: string): Promise<readonly (bigint | null)[]> {
  const segment = await openSegment(path);
  const { file } = segment;
  try {
    const numbers: (bigint | null)[] = [];
    for (const [index, rows] of file.batchRows.entries()) {
      const column = (await file.readBatch(index, ['sequence'])).data.children[0]!;
      for (let row = 0; row < rows; row++) numbers.push(int64.read(column, row));
    }
    return numbers;
  } finally {
    await segment.close();
  }
}

/** Whether an error means that a segment is damaged or missing. */
export function isDamage(error: unknown): boolean {
  if (error instanceof ArrowError || error instanceof RecordFault) return true;
  return error instanceof RangeError || error instanceof TypeError || isAbsent(error);
}
