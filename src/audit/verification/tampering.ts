import type { Data } from 'apache-arrow';
import type { AuditFinding, Tampering } from '../checkpoints/finding.ts';
import { isMissing } from '../../storage/storage-error.ts';
import { hashAfter, hashTail, TAIL_LENGTH, type ChainHead } from '../chain/hash-chain.ts';
import type { BrokenLine } from '../chain/reader.ts';
import { ForeignFile, lineBatches, type LogFile } from '../chain/log-files.ts';
import { ArrowError } from '../../arrow/arrow-error.ts';
import { int64Values } from '../../arrow/value-column.ts';
import { RecordFault } from '../record/decoding.ts';
import { batchesOfSegment, withSegment } from '../segments/segment-file.ts';

/** Beginning of a line of the log, with its sequence number. */
const PLACE = /^(\{"instance":"[^"]*","sequence":)(\d{1,19}),/;

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
  const text = bytes.toString('latin1');
  const diagnosis = await diagnoseBreak({
    files,
    expected,
    found: sequenceIn(text),
    followsAsExpected: () => follows(head, text),
    next: () => sequenceAt(file, line + 1),
  });
  return { ...diagnosis, instance, file: file.path, line, sequence: expected };
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

async function sequenceAt(file: LogFile, line: number): Promise<bigint | undefined> {
  let before = 0;
  for await (const lines of lineBatches(file.path)) {
    const found = lines[line - 1 - before];
    if (found !== undefined) return sequenceIn(found);
    before += lines.length;
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
  try {
    if (kind === 'segment') return (await sequencesOfSegment(path)).includes(sequence);
    for await (const lines of lineBatches(path)) {
      if (lines.some((line) => sequenceIn(line) === sequence)) return true;
    }
    return false;
  } catch (error) {
    // An unreadable file does not prove that the record exists.
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Sequence number in a line, which may be forged. */
export function sequenceIn(line: string): bigint | undefined {
  const digits = PLACE.exec(line)?.[2];
  return digits === undefined ? undefined : BigInt(digits);
}

/** Sequence numbers of a segment's records, in the order of the file. */
export function sequencesOfSegment(path: string): Promise<readonly (bigint | null)[]> {
  return withSegment(path, async (segment) => {
    const numbers: (bigint | null)[] = [];
    for await (const { data, numRows } of batchesOfSegment(segment, ['sequence'])) {
      const [column] = data.children as [Data];
      for (let row = 0; row < numRows; row++) numbers.push(int64Values.read(column, row));
    }
    return numbers;
  });
}

/** Whether an error means that a file of the log is damaged, missing or not the log's own. */
export function isDamage(error: unknown): boolean {
  const kinds = [ArrowError, RecordFault, ForeignFile, RangeError, TypeError];
  return kinds.some((kind) => error instanceof kind) || isMissing(error);
}
