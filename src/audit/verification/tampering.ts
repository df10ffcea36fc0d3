import type { Data } from 'apache-arrow';
import type { AuditFinding, Tampering } from '../checkpoints/finding.ts';
import { readLines } from '../../storage/line-reader.ts';
import { hashAfter, hashTail, TAIL_LENGTH, type ChainHead } from '../chain/hash-chain.ts';
import type { BrokenLine } from '../chain/reader.ts';
import type { LogFile } from '../chain/log-folder.ts';
import { ArrowError } from '../../arrow/errors.ts';
import { int64 } from '../../arrow/value-column.ts';
import { isAbsent } from '../segments/log-part.ts';
import { RecordFault } from '../record/decoding.ts';
import { batchesOfSegment, withSegment } from '../segments/segment-file.ts';

/** Beginning of a line of the log, with its sequence number. */
const PLACE = /^(\{"instance":"[^"]*","sequence":)(\d{1,19}),/;
const PLACE_LENGTH = 200;

/** Kind of a manipulation, and a sentence about it. */
export interface Diagnosis {
  readonly kind: Tampering;
  readonly text: string;
}

/** The first record that does not follow from the one before it. */
interface BrokenRecord {
  /** Files of the instance. */
  readonly files: readonly LogFile[];
  /** The expected sequence number. */
  readonly expected: bigint;
  /** The record's own sequence number, which may be forged; undefined if there is none. */
  readonly found: bigint | undefined;
  /** Whether the record's hash fits once it has the expected number. */
  readonly followsAsExpected: () => boolean;
  /** The sequence number of the next record. */
  readonly next: () => Promise<bigint | undefined>;
}

/** Explains the first line that breaks the chain. */
export async function describeBreak(
  instance: string,
  files: readonly LogFile[],
  head: ChainHead,
  broken: BrokenLine,
): Promise<AuditFinding> {
  const expected = head.count + 1n;
  const { file, line, bytes } = broken;
  const { kind, text } = await diagnoseBreak({
    files,
    expected,
    found: sequenceIn(bytes),
    followsAsExpected: () => follows(head, bytes.toString('latin1')),
    next: () => sequenceAt(file, line + 1),
  });
  return { kind, instance, file: file.path, line, sequence: expected, text };
}

/** Decides whether the record was edited or moved, or others before it were removed. */
export async function diagnoseBreak(broken: BrokenRecord): Promise<Diagnosis> {
  const { files, expected, found } = broken;
  const edited: Diagnosis = { kind: 'edited', text: `record ${expected} was edited` };
  if (found === undefined || found === expected || broken.followsAsExpected()) return edited;
  const moved: Diagnosis = {
    kind: 'reordered',
    text: `record ${found} stands where ${expected} belongs`,
  };
  if (await holds(files, expected)) return moved;
  if ((await broken.next()) === expected + 1n) return edited;
  if (found < expected) return moved;
  return { kind: 'removed', text: removedText(expected, found - 1n) };
}

/** States that a range of records was removed. */
export function removedText(first: bigint, last: bigint): string {
  return first === last
    ? `record ${first} was removed`
    : `records ${first} to ${last} were removed`;
}

/** Whether a line's hash fits once the line has the expected number. */
function follows({ count, hash }: ChainHead, line: string): boolean {
  const numbered = line.replace(PLACE, `$1${count + 1n},`);
  const fields = numbered.slice(0, -TAIL_LENGTH);
  return numbered === fields + hashTail(hashAfter(hash, Buffer.from(fields, 'latin1')));
}

/** Sequence number in a line of a file. */
async function sequenceAt(file: LogFile, line: number): Promise<bigint | undefined> {
  for await (const { number, bytes } of readLines(file.path)) {
    if (number === line) return sequenceIn(bytes);
  }
  return undefined;
}

/** Whether a record is in one of the files. */
async function holds(files: readonly LogFile[], sequence: bigint): Promise<boolean> {
  for (const file of files) {
    if (await holdsIn(file, sequence)) return true;
  }
  return false;
}

async function holdsIn({ kind, path }: LogFile, sequence: bigint): Promise<boolean> {
  if (kind === 'segment') return segmentHolds(path, sequence);
  for await (const { bytes } of readLines(path)) if (sequenceIn(bytes) === sequence) return true;
  return false;
}

async function segmentHolds(path: string, sequence: bigint): Promise<boolean> {
  try {
    return (await sequencesOfSegment(path)).includes(sequence);
  } catch (error) {
    // An unreadable file does not prove that the record exists.
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Sequence number in a line, which may be forged. */
export function sequenceIn(line: Buffer): bigint | undefined {
  const digits = PLACE.exec(line.toString('latin1', 0, PLACE_LENGTH))?.[2];
  return digits === undefined ? undefined : BigInt(digits);
}

/** Sequence numbers of a segment's records, in the order of the file. */
export function sequencesOfSegment(path: string): Promise<readonly (bigint | null)[]> {
  return withSegment(path, async (segment) => {
    const numbers: (bigint | null)[] = [];
    for await (const { data, numRows } of batchesOfSegment(segment, ['sequence'])) {
      const [column] = data.children as [Data];
      for (let row = 0; row < numRows; row++) numbers.push(int64.read(column, row));
    }
    return numbers;
  });
}

/** Whether an error means that a segment is damaged or missing. */
export function isDamage(error: unknown): boolean {
  if (error instanceof ArrowError || error instanceof RecordFault) return true;
  return error instanceof RangeError || error instanceof TypeError || isAbsent(error);
}
