import type { ChainHead } from './chain.ts';
import type { BrokenLine } from './chain-reader.ts';
import type { LogFile } from './log-folder.ts';
import { readLines } from '../store/line-reader.ts';
import type { AuditFinding, Tampering } from './audit-finding.ts';

/** How a line of the log begins; the instance is not looked at. */
const PLACE = /^\{"instance":"[^"]*","sequence":(\d{1,19}),/;
const PLACE_LENGTH = 200;

/** Says what was done to the first line that does not follow from the one before it. */
export async function describeBreak(
  instance: string,
  files: readonly LogFile[],
  head: ChainHead,
  broken: BrokenLine,
): Promise<AuditFinding> {
  const expected = head.count + 1n;
  const { kind, text } = await judge(files, expected, broken);
  const { file, line } = broken;
  return { kind, instance, file: file.path, line, sequence: expected, text };
}

interface Judged {
  readonly kind: Tampering;
  readonly text: string;
}

async function judge(
  files: readonly LogFile[],
  expected: bigint,
  { bytes, file, line }: BrokenLine,
): Promise<Judged> {
  const found = placeOf(bytes);
  const edited: Judged = { kind: 'edited', text: `record ${expected} was edited` };
  if (found === undefined || found === expected) return edited;
  const moved: Judged = {
    kind: 'reordered',
    text: `record ${found} stands where ${expected} belongs`,
  };
  if (await holds(files, expected)) return moved;
  if ((await placeAt(file, line + 1)) === expected + 1n) return edited;
  if (found < expected) return moved;
  const last = found - 1n;
  const gone = last === expected ? `record ${expected} was` : `records ${expected} to ${last} were`;
  return { kind: 'removed', text: `${gone} removed` };
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
  for (const { path } of files) {
    for await (const { bytes } of readLines(path)) if (placeOf(bytes) === sequence) return true;
  }
  return false;
}

/** The number that a line gives its record; it may lie. */
export function placeOf(line: Buffer): bigint | undefined {
  const digits = PLACE.exec(line.toString('latin1', 0, PLACE_LENGTH))?.[1];
  return digits === undefined ? undefined : BigInt(digits);
}
