import type { AuditFinding } from './audit-finding.ts';
import { beginning, type ChainHead } from './chain.ts';
import { readChain, type BrokenLine, type Marks, type ReadChain } from './chain-reader.ts';
import type { Checkpoint } from './checkpoint.ts';
import { filesOf, instancesOf, type LogFile } from './log-folder.ts';
import { checkSegment } from './segment-check.ts';
import type { PublicKey } from './signing-key.ts';
import { describeBreak, placeOf } from './tampering.ts';
import type { Vouchers } from './vouchers.ts';

/** What a verification looked at and found. */
export interface AuditVerified {
  readonly instances: number;
  readonly records: bigint;
  /** Records after the last checkpoint: chained, but nobody has signed for them yet. */
  readonly unsigned: bigint;
  readonly findings: readonly AuditFinding[];
  /** What is no fault: what a crash left behind, for example. */
  readonly notes: readonly string[];
}

/** Told how many records have been looked at. */
export type AuditProgress = (records: bigint) => void;

/**
 * Checks every chain of an audit folder against itself and against the
 * checkpoints that were kept elsewhere. Of each chain it tells the first thing
 * that is wrong.
 */
export async function verifyLog(
  folder: string,
  vouchers: Vouchers,
  progress: AuditProgress = () => undefined,
): Promise<AuditVerified> {
  const checked: CheckedChain[] = [];
  let records = 0n;
  for (const instance of await namesOf(folder, vouchers)) {
    const chain = await checkChain(folder, instance, vouchers);
    checked.push(chain);
    records += chain.head.count;
    progress(records);
  }
  return {
    instances: checked.length,
    records,
    unsigned: checked.reduce((sum, { unsigned }) => sum + unsigned, 0n),
    findings: checked.flatMap(({ finding }) => (finding === undefined ? [] : [finding])),
    notes: [...vouchers.notes, ...checked.flatMap(({ notes }) => notes)],
  };
}

/** The instances that have a folder, and those that only a checkpoint knows. */
async function namesOf(folder: string, vouchers: Vouchers): Promise<readonly string[]> {
  const present = await instancesOf(folder);
  return [...new Set([...present, ...vouchers.instances])].sort();
}

interface CheckedChain {
  readonly head: ChainHead;
  readonly unsigned: bigint;
  readonly finding?: AuditFinding;
  readonly notes: readonly string[];
}

async function checkChain(
  folder: string,
  instance: string,
  vouchers: Vouchers,
): Promise<CheckedChain> {
  const checkpoints = vouchers.of(instance);
  const files = await filesOf(folder, instance);
  const marks: Marks = new Map(checkpoints.map(({ count }) => [count, undefined]));
  const walked = await walk({ instance, files, marks, keys: vouchers.keys });
  const signed = checkpoints.at(-1)?.count ?? 0n;
  const finding =
    againstCheckpoints(instance, checkpoints, marks, walked) ??
    walked.finding ??
    (walked.broken && (await describeBreak(instance, files, walked.head, walked.broken))) ??
    unvouched(instance, checkpoints, walked);
  const { count } = walked.head;
  const unsigned = count > signed ? count - signed : 0n;
  return { head: walked.head, unsigned, notes: walked.notes, ...(finding && { finding }) };
}

interface Walked {
  readonly head: ChainHead;
  readonly broken?: BrokenLine | undefined;
  readonly finding?: AuditFinding | undefined;
  readonly notes: readonly string[];
}

async function walk(chain: ChainFiles): Promise<Walked> {
  const { instance, files } = chain;
  const notes: string[] = [];
  let head = beginning(instance);
  let previous: Stretch | undefined;
  for (const file of files) {
    const part = await walkPart(chain, { file, from: head, previous });
    notes.push(...part.notes);
    head = part.read.head;
    if (part.finding !== undefined || part.read.broken !== undefined) {
      return { head, broken: part.read.broken, finding: part.finding, notes };
    }
    previous = part;
  }
  return { head, notes };
}

interface ChainFiles {
  readonly instance: string;
  readonly files: readonly LogFile[];
  readonly marks: Marks;
  readonly keys: readonly PublicKey[];
}

interface Part {
  readonly file: LogFile;
  readonly from: ChainHead;
  readonly previous: Stretch | undefined;
}

async function walkPart(chain: ChainFiles, part: Part): Promise<Stretch> {
  return part.file.kind === 'segment' ? walkSegment(chain, part) : walkLines(chain, part);
}

async function walkSegment(chain: ChainFiles, { file, from }: Part): Promise<Stretch> {
  const { head, finding, note } = await checkSegment({ ...chain, file, from });
  const notes = note === undefined ? [] : [note];
  return { file, from, read: { head, torn: false }, notes, ...(finding && { finding }) };
}

async function walkLines({ marks }: ChainFiles, { file, from, previous }: Part): Promise<Stretch> {
  const notes: string[] = [];
  let read = await readChain(file, from, marks);
  const earlier = previous && read.broken?.line === 1 && (await rewound(previous, read.broken));
  if (earlier) {
    const unconfirmed = from.count - earlier.count;
    notes.push(`${previous?.file.path} ends with ${unconfirmed} records that were never confirmed`);
    read = await readChain(file, earlier, marks);
  }
  if (read.torn) notes.push(`${file.path} ends with a torn record, which was never confirmed`);
  return { file, from, read, notes };
}

/** A file and how far the chain held in it. */
interface Stretch {
  readonly file: LogFile;
  readonly from: ChainHead;
  readonly read: ReadChain;
  readonly notes: readonly string[];
  readonly finding?: AuditFinding;
}

/**
 * Where the chain stood when it was taken up in another file, since a disk that
 * failed could not be made to forget the records after that.
 */
async function rewound(previous: Stretch, { bytes }: BrokenLine): Promise<ChainHead | undefined> {
  const next = previous.file.kind === 'lines' ? placeOf(bytes) : undefined;
  if (next === undefined || next <= previous.from.count + 1n) return undefined;
  const count = next - 1n;
  if (count >= previous.read.head.count) return undefined;
  const marks: Marks = new Map([[count, undefined]]);
  await readChain(previous.file, previous.from, marks);
  const hash = marks.get(count);
  return hash === undefined ? undefined : { count, hash };
}

/** A chain that holds in itself, but is not the one that was signed. */
function againstCheckpoints(
  instance: string,
  checkpoints: readonly Checkpoint[],
  marks: Marks,
  { head, broken, finding }: Walked,
): AuditFinding | undefined {
  let good = 0n;
  for (const { count, hash, time } of checkpoints) {
    if (!marks.has(count)) continue;
    // Past what is bad nobody looked.
    if (marks.get(count) === undefined && finding !== undefined) return undefined;
    if (count > head.count) {
      if (broken !== undefined || finding !== undefined) return undefined;
      const text = `the log ends after record ${head.count}, but ${count} were signed at ${time}`;
      return { ...whole(instance), kind: 'cut short', sequence: head.count + 1n, text };
    }
    if (marks.get(count) !== hash) {
      const text =
        `records ${good + 1n} to ${count} are not those that were signed at ${time}: ` +
        'one of them was edited, and the hashes after it made anew';
      return { ...whole(instance), kind: 'edited', sequence: good + 1n, text };
    }
    good = count;
  }
  return undefined;
}

/** The first checkpoint is kept with the first mutation, or after a second: a crash before that leaves no more than so. */
const UNSIGNED_RECORDS = 10_000n;

function unvouched(
  instance: string,
  checkpoints: readonly Checkpoint[],
  { head }: Walked,
): AuditFinding | undefined {
  if (checkpoints.length > 0 || head.count <= UNSIGNED_RECORDS) return undefined;
  const text = `no checkpoint vouches for any of its ${head.count} records`;
  return { ...whole(instance), kind: 'unsigned', sequence: 1n, text };
}

function whole(instance: string) {
  return { instance, file: null, line: null };
}
