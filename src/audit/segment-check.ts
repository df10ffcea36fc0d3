import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ArrowError } from '../arrow/errors.ts';
import { text as textKind } from '../arrow/value-column.ts';
import type { AuditFinding, Tampering } from './audit-finding.ts';
import type { ChainHead } from './chain.ts';
import type { Marks } from './chain-reader.ts';
import type { LogFile } from './log-folder.ts';
import { RecordFault } from './record-decoding.ts';
import { isSealSigned, parseSeal, type Seal } from './seal.ts';
import { follow, openSegment } from './segment-file.ts';
import type { PublicKey } from './signing-key.ts';
import { StatementFault } from './statement.ts';

/** What a check of a segment is given beside its file. */
export interface SegmentPlace {
  readonly instance: string;
  readonly file: LogFile;
  /** Where the chain stands before it. */
  readonly from: ChainHead;
  readonly marks: Marks;
  readonly keys: readonly PublicKey[];
}

/** How far the chain holds in a segment. */
export interface CheckedSegment {
  readonly head: ChainHead;
  readonly finding?: AuditFinding;
  readonly note?: string;
}

/**
 * Checks a sealed segment: by the digest of its file where the seal is good, and
 * record by record where it is not.
 */
export async function checkSegment(place: SegmentPlace): Promise<CheckedSegment> {
  const seal = await goodSeal(place);
  if (seal === undefined) return checkRecords(place, 'edited', 'its seal is not valid');
  if (seal.retired !== '') return retired(place, seal);
  if (!(await exists(place.file.path))) return missing(place, seal);
  if ((await digestOf(place.file.path)) !== seal.sha256) {
    return checkRecords(place, 'edited', 'its bytes are not those that were sealed');
  }
  await markHashes(place, seal);
  return { head: seal.after };
}

/** The seal, if one of the keys signed it for this very place. */
async function goodSeal({ instance, file, from, keys }: SegmentPlace): Promise<Seal | undefined> {
  try {
    const seal = parseSeal(await readFile(file.seal, 'utf8'));
    const isHere = seal.instance === instance && seal.file === basename(file.path);
    const follows = seal.before.count === from.count && seal.before.hash === from.hash;
    return isHere && follows && isSealSigned(seal, keys) ? seal : undefined;
  } catch (error) {
    if (error instanceof StatementFault) return undefined;
    throw error;
  }
}

/** Nobody can say any more what the hashes within it were. */
function retired({ marks, file, from }: SegmentPlace, seal: Seal): CheckedSegment {
  for (const count of marks.keys()) {
    if (count > from.count && count < seal.after.count) marks.delete(count);
  }
  if (marks.has(seal.after.count)) marks.set(seal.after.count, seal.after.hash);
  const records = seal.after.count - from.count;
  const note = `${file.path} was kept until ${seal.retired}: its ${records} records are gone`;
  return { head: seal.after, note };
}

function missing({ instance, file, from }: SegmentPlace, seal: Seal): CheckedSegment {
  const [first, last] = [from.count + 1n, seal.after.count];
  const text = `records ${first} to ${last} were removed with their file`;
  return {
    head: from,
    finding: { kind: 'removed', instance, file: file.path, line: null, sequence: first, text },
  };
}

async function markHashes({ file, from, marks }: SegmentPlace, seal: Seal): Promise<void> {
  const wanted = [...marks.keys()].filter(
    (count) => count > from.count && count <= seal.after.count,
  );
  if (wanted.length === 0) return;
  const segment = await openSegment(file.path);
  try {
    let before = from.count;
    for (const [index, rows] of segment.file.batchRows.entries()) {
      const here = wanted.filter((count) => count > before && count <= before + BigInt(rows));
      if (here.length > 0) {
        const hashes = (await segment.file.readBatch(index, ['hash'])).data.children[0]!;
        for (const count of here) {
          marks.set(count, textKind.read(hashes, Number(count - before) - 1) ?? undefined);
        }
      }
      before += BigInt(rows);
    }
  } finally {
    await segment.close();
  }
}

/** Looks at every record for the first that is bad. If none is, the segment itself is to blame. */
async function checkRecords(
  place: SegmentPlace,
  kind: Tampering,
  why: string,
): Promise<CheckedSegment> {
  const { instance, file, from } = place;
  const found = await firstBad(place).catch((error: unknown): Bad => {
    if (isDamage(error)) return { head: from, text: 'the file cannot be read any more' };
    throw error;
  });
  const sequence = found.head.count + 1n;
  const text =
    found.text ?? `the segment of records ${from.count + 1n} to ${found.head.count}: ${why}`;
  return {
    head: found.head,
    finding: {
      kind: found.kind ?? kind,
      instance,
      file: file.path,
      line: null,
      sequence: found.text === undefined ? from.count + 1n : sequence,
      text,
    },
  };
}

interface Bad {
  readonly head: ChainHead;
  readonly kind?: Tampering;
  /** Undefined when every record follows from the one before. */
  readonly text?: string;
}

async function firstBad({ file, from }: SegmentPlace): Promise<Bad> {
  const segment = await openSegment(file.path);
  try {
    let head = from;
    for (let index = 0; index < segment.file.batchRows.length; index++) {
      const walked = follow(head, await segment.file.readBatch(index));
      head = walked.head;
      if (walked.broken !== undefined)
        return { head, ...judge(head.count + 1n, walked.broken.sequence) };
    }
    return { head };
  } finally {
    await segment.close();
  }
}

function judge(expected: bigint, found: bigint): Omit<Bad, 'head'> {
  if (found === expected) return { kind: 'edited', text: `record ${expected} was edited` };
  if (found < expected) {
    return { kind: 'reordered', text: `record ${found} stands where ${expected} belongs` };
  }
  return { kind: 'removed', text: `record ${expected} is not there, ${found} is` };
}

function isDamage(error: unknown): boolean {
  if (error instanceof ArrowError || error instanceof RecordFault) return true;
  return error instanceof RangeError || error instanceof TypeError || hasCode(error, 'ENOENT');
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 }))
    digest.update(chunk);
  return digest.digest('hex');
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    },
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
