import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { textValues } from '../../arrow/value-column.ts';
import type { AuditFinding } from '../checkpoints/finding.ts';
import {
  isDamage,
  sequencesOfSegment,
  diagnoseBreak,
  removedText,
  type Diagnosis,
} from './tampering.ts';
import type { ChainHead } from '../chain/hash-chain.ts';
import type { HashMarks } from '../chain/reader.ts';
import { logStorage, openLogFile, readLogFile, type LogFile } from '../chain/log-files.ts';
import { readWhole } from '../../storage/open-object.ts';
import type { LoggedRecord } from '../record/record.ts';
import { isSealSigned, parseSeal, type SegmentSeal } from '../segments/seal.ts';
import {
  batchesOfSegment,
  followBatch,
  hashOfRecord,
  withSegment,
} from '../segments/segment-file.ts';
import type { PublicKey } from '../signing/keys.ts';
import { StatementFault } from '../signing/statement.ts';

/** Bytes of a file that are read at once. */
const PIECE_BYTES = 2 ** 20;

/** A segment and its place in the chain. */
interface SegmentPlace {
  readonly instance: string;
  readonly file: LogFile;
  /** All files of the instance. */
  readonly files: readonly LogFile[];
  /** Head of the chain before the segment. */
  readonly from: ChainHead;
  readonly marks: HashMarks;
  readonly keys: readonly PublicKey[];
}

/** How far the chain is intact in a segment. */
interface CheckedSegment {
  readonly head: ChainHead;
  readonly finding?: AuditFinding;
  readonly note?: string;
}

/**
 * Verifies a sealed segment: by the digest of its file if the seal is valid, and
 * record by record if it is not.
 */
export async function checkSegment(place: SegmentPlace): Promise<CheckedSegment> {
  const seal = await goodSeal(place);
  if (seal === undefined) return checkRecords(place, 'its seal is not valid');
  if (seal.retired !== '') return retired(place, seal);
  if (logStorage.stat(place.file.path) === undefined) return missing(place, seal);
  if ((await digestOf(place.file.path)) !== seal.sha256) {
    return checkRecords(place, 'its bytes are not those that were sealed', seal);
  }
  await markHashes(place, seal);
  return { head: seal.after };
}

/** The seal, if one of the keys signed it for this place of the chain. */
async function goodSeal({
  instance,
  file,
  from,
  keys,
}: SegmentPlace): Promise<SegmentSeal | undefined> {
  try {
    const seal = parseSeal(await readLogFile(file.seal));
    const isHere = seal.instance === instance && seal.file === basename(file.path);
    const follows = seal.before.count === from.count && seal.before.hash === from.hash;
    return isHere && follows && isSealSigned(seal, keys) ? seal : undefined;
  } catch (error) {
    if (error instanceof StatementFault) return undefined;
    throw error;
  }
}

/** The result for a segment that was removed after its retention: its hashes are unknown. */
function retired({ marks, file, from }: SegmentPlace, seal: SegmentSeal): CheckedSegment {
  for (const count of marks.keys()) {
    if (count > from.count && count < seal.after.count) marks.delete(count);
  }
  if (marks.has(seal.after.count)) marks.set(seal.after.count, seal.after.hash);
  const records = seal.after.count - from.count;
  const note = `${file.path} was kept until ${seal.retired}: its ${records} records are gone`;
  return { head: seal.after, note };
}

function missing({ instance, file, from }: SegmentPlace, seal: SegmentSeal): CheckedSegment {
  const [first, last] = [from.count + 1n, seal.after.count];
  const text = `records ${first} to ${last} were removed with their file`;
  return {
    head: from,
    finding: { kind: 'removed', instance, file: file.path, line: null, sequence: first, text },
  };
}

async function markHashes({ file, from, marks }: SegmentPlace, seal: SegmentSeal): Promise<void> {
  const wanted = [...marks.keys()].filter(
    (count) => count > from.count && count <= seal.after.count,
  );
  if (wanted.length === 0) return;
  await withSegment(file.path, async (segment) => {
    let before = from.count;
    for (const [index, rows] of segment.file.batchRows.entries()) {
      const here = wanted.filter((count) => count > before && count <= before + BigInt(rows));
      if (here.length > 0) {
        const hashes = (await segment.file.readBatch(index, ['hash'])).data.children[0]!;
        for (const count of here) {
          marks.set(count, textValues.read(hashes, Number(count - before) - 1) ?? undefined);
        }
      }
      before += BigInt(rows);
    }
  });
}

/** Verifies every record. If all are intact, the fault is in the file itself. */
async function checkRecords(
  place: SegmentPlace,
  why: string,
  seal?: SegmentSeal,
): Promise<CheckedSegment> {
  const { instance, file, from } = place;
  const { head, bad } = await firstBad(place).catch((error: unknown): FirstBad => {
    if (!isDamage(error)) throw error;
    return { head: from, bad: { kind: 'edited', text: 'the file cannot be read any more' } };
  });
  const whole = `the segment of records ${from.count + 1n} to ${head.count}: ${why}`;
  const [first, judged] =
    bad !== undefined
      ? [head.count + 1n, bad]
      : ((await cutOff(place, head, seal)) ?? [
          from.count + 1n,
          { kind: 'edited', text: whole } as const,
        ]);
  const finding = { ...judged, instance, file: file.path, line: null, sequence: first };
  return { head, finding };
}

/**
 * The records that are missing at the end of a segment whose other records are intact. They were
 * removed, or are hidden: then the file still holds the hash of the last one.
 */
async function cutOff(
  { file }: SegmentPlace,
  { count }: ChainHead,
  seal: SegmentSeal | undefined,
): Promise<readonly [bigint, Diagnosis] | undefined> {
  if (seal === undefined || count >= seal.after.count) return undefined;
  const [first, last] = [count + 1n, seal.after.count];
  const isHidden = (await readWhole(openLogFile(file.path))).includes(seal.after.hash);
  const hidden = `the file was edited to hide its records from ${first} to ${last}`;
  return [
    first,
    isHidden
      ? { kind: 'edited', text: hidden }
      : { kind: 'removed', text: removedText(first, last) },
  ];
}

interface FirstBad {
  /** Head after the last intact record. */
  readonly head: ChainHead;
  /** Manipulation of the next record; undefined if all are intact. */
  readonly bad?: Diagnosis;
}

/** Verifies the records up to the first that breaks the chain. */
async function firstBad(place: SegmentPlace): Promise<FirstBad> {
  return withSegment(place.file.path, async (segment) => {
    let head = place.from;
    for await (const batch of batchesOfSegment(segment)) {
      const walked = followBatch(head, batch);
      head = walked.head;
      if (walked.broken !== undefined)
        return { head, bad: await diagnose(place, head, walked.broken) };
    }
    return { head };
  });
}

function diagnose(
  { files, file, from }: SegmentPlace,
  head: ChainHead,
  broken: LoggedRecord,
): Promise<Diagnosis> {
  const expected = head.count + 1n;
  return diagnoseBreak({
    files,
    expected,
    found: broken.sequence,
    followsAsExpected: () => hashOfRecord(head, { ...broken, sequence: expected }) === broken.hash,
    next: async () =>
      (await sequencesOfSegment(file.path))[Number(expected - from.count)] ?? undefined,
  });
}

/** SHA-256 of a file in hexadecimal. A piece is read while the one before is hashed. */
async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  const file = openLogFile(path);
  try {
    let [filling, spare] = [Buffer.allocUnsafe(PIECE_BYTES), Buffer.allocUnsafe(PIECE_BYTES)];
    let read = await file.read(filling, 0);
    for (let position = read; read > 0; position += read) {
      const piece = filling.subarray(0, read);
      const next = file.read(spare, position);
      digest.update(piece);
      [filling, spare] = [spare, filling];
      read = await next;
    }
    return digest.digest('hex');
  } finally {
    file.close();
  }
}
