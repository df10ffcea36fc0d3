import { basename } from 'node:path';
import type { AuditFinding } from '../checkpoints/finding.ts';
import { describeBreak, sequenceIn } from './tampering.ts';
import { firstHead, type ChainHead } from '../chain/hash-chain.ts';
import type { InstanceStart } from '../instances/start.ts';
import { readChain, type BrokenLine, type HashMarks, type ChainProgress } from '../chain/reader.ts';
import type { Checkpoint } from '../checkpoints/checkpoint.ts';
import { ForeignFile, instancesOf, logFilesOf, type LogFile } from '../chain/log-files.ts';
import { checkSegment } from './segments.ts';
import type { PublicKey } from '../signing/keys.ts';
import type { TrustedCheckpoints } from '../checkpoints/trusted.ts';

/** Scope and findings of a verification. */
export interface VerificationResult {
  readonly instances: number;
  readonly records: bigint;
  /** Records after the last signed head. */
  readonly unsigned: bigint;
  readonly findings: readonly AuditFinding[];
  /** Notes that are no faults, for example remains of a crash. */
  readonly notes: readonly string[];
  /** Heads of all chains. */
  readonly heads: readonly SignedHead[];
}

/** Head of an instance's chain, and how much of the chain is signed. */
interface SignedHead {
  readonly instance: string;
  readonly count: bigint;
  readonly hash: string;
  /** Number of records up to the last signature. */
  readonly signed: bigint;
  /** Time and key of the newest checkpoint; null without one. */
  readonly time: string | null;
  readonly key: string | null;
}

/** Facts about instances besides their records. */
interface InstanceFacts {
  /** Start statements of instances. */
  readonly starts: readonly InstanceStart[];
  /** Whether the process of an instance is gone. */
  readonly isOver: (instance: string) => Promise<boolean>;
  /** Instances whose files come from an archive. */
  readonly archived?: ArchivedChains;
}

interface ArchivedChains {
  /** Instances that are in the archive alone. */
  readonly instances: readonly string[];
  /** Instances of the folder that are in the archive as well. */
  readonly own?: readonly string[];
  /** Brings the files of an instance. @returns The folder that has them */
  readonly bring: (instance: string) => Promise<string>;
}

/** Time after which a signed record must be in the archive, in ms. */
export const ARCHIVED_MILLIS = 30_000;

const noFacts: InstanceFacts = { starts: [], isOver: async () => false };

/**
 * Verifies every chain of an audit folder: its hashes, the checkpoints and seals, and the
 * start statements of other instances. Reports the first fault of each chain.
 * @param progress Called with the number of verified records.
 */
export async function verifyLog(
  folder: string,
  trusted: TrustedCheckpoints,
  progress: (records: bigint) => void = () => undefined,
  facts: InstanceFacts = noFacts,
): Promise<VerificationResult> {
  const checked: CheckedChain[] = [];
  const present = await instancesOf(folder);
  const archived = new Set(facts.archived?.instances ?? []);
  let records = 0n;
  for (const instance of namesOf([...present, ...archived], trusted, facts)) {
    const place = archived.has(instance) ? await facts.archived?.bring(instance) : folder;
    const chain =
      place !== undefined && (archived.has(instance) || present.includes(instance))
        ? await checkChain(place, instance, trusted, facts, (count) => progress(records + count))
        : missingChain(instance, trusted, facts);
    const isBoth = facts.archived?.own?.includes(instance) === true;
    checked.push(isBoth ? await comparedWithArchive(chain, trusted, facts) : chain);
    records += chain.head.count;
    progress(records);
  }
  return {
    instances: checked.length,
    records,
    unsigned: checked.reduce((sum, { unsigned }) => sum + unsigned, 0n),
    findings: [
      ...trusted.findings,
      ...startFindings(facts.starts, trusted),
      ...checked.flatMap(({ finding }) => (finding === undefined ? [] : [finding])),
      ...checked.flatMap(({ archived }) => (archived === undefined ? [] : [archived])),
    ],
    notes: checked.flatMap(({ notes }) => notes),
    heads: checked.map(({ instance, head, unsigned }) => {
      const last = trusted.of(instance).at(-1);
      const signed = head.count - unsigned;
      return { instance, ...head, signed, time: last?.time ?? null, key: last?.key ?? null };
    }),
  };
}

/** Instances with a folder, a checkpoint or a start statement, and those that other instances name. */
function namesOf(
  present: readonly string[],
  trusted: TrustedCheckpoints,
  { starts }: InstanceFacts,
): readonly string[] {
  const named = starts.flatMap((start) =>
    start.trusted ? [start.instance, ...start.earlier] : [],
  );
  return [...new Set([...present, ...trusted.instances, ...named])].sort();
}

interface CheckedChain {
  readonly instance: string;
  readonly head: ChainHead;
  readonly unsigned: bigint;
  readonly finding?: AuditFinding;
  /** The first fault of its copy in the archive. */
  readonly archived?: AuditFinding;
  readonly notes: readonly string[];
}

/**
 * Verifies the archived copy of a chain of the folder. Where files of the folder are gone and the copy is
 * whole, the copy counts.
 */
async function comparedWithArchive(
  here: CheckedChain,
  trusted: TrustedCheckpoints,
  facts: InstanceFacts,
): Promise<CheckedChain> {
  const { instance } = here;
  const place = await facts.archived?.bring(instance);
  if (place === undefined) return here;
  // Its newest records may not be in the archive yet, whether its process has ended or not.
  const copy = await checkChain(place, instance, trusted, { ...facts, isOver: async () => false });
  const { finding } = copy;
  if (finding === undefined && here.finding !== undefined && isLoss(here.finding)) {
    const note = `${instance}: ${here.finding.text} in the data folder: the archive has the records, which were read there`;
    return { ...copy, notes: [...copy.notes, note] };
  }
  if (finding === undefined) return here;
  if (isShort(finding)) {
    const signed = trusted.of(instance).at(-1)?.time ?? '';
    if (Date.now() - Date.parse(signed) < ARCHIVED_MILLIS) return here;
    const note = `${instance}: records after ${copy.head.count} are not in the archive`;
    return { ...here, notes: [...here.notes, note] };
  }
  const text = `in the archive, ${finding.text}`;
  const file = finding.file === null ? null : `archive:${instance}/${basename(finding.file)}`;
  return { ...here, archived: { ...finding, file, text } };
}

function isLoss({ kind }: AuditFinding): boolean {
  return kind === 'removed' || kind === 'cut short';
}

/** Whether a chain is whole up to its end, which is too early. */
function isShort({ kind, file }: AuditFinding): boolean {
  return kind === 'cut short' || (kind === 'removed' && file === null);
}

/** An instance without a folder. */
function missingChain(
  instance: string,
  trusted: TrustedCheckpoints,
  { starts }: InstanceFacts,
): CheckedChain {
  const last = trusted.of(instance).at(-1);
  const knower = starts.find((start) => start.trusted && start.earlier.includes(instance));
  const evidence = [
    ...(last === undefined ? [] : [`${last.count} of its records were signed at ${last.time}`]),
    ...(knower === undefined ? [] : [`${knower.instance} knew it when it began`]),
  ];
  const why =
    evidence.length === 0 ? 'its own statement of its start is there' : evidence.join(', ');
  const text = `the whole instance is missing: ${why}`;
  const finding: AuditFinding = { ...whole(instance), kind: 'removed', sequence: 1n, text };
  return { instance, head: firstHead(instance), unsigned: 0n, notes: [], finding };
}

/** Faults of start statements. */
function startFindings(
  starts: readonly InstanceStart[],
  checkpoints: TrustedCheckpoints,
): readonly AuditFinding[] {
  const byName = new Map(starts.map((start) => [start.instance, start]));
  const unknown = starts.filter(({ trusted }) => !trusted);
  const missing = checkpoints.instances.filter((instance) => {
    const digest = checkpoints.of(instance).at(-1)?.start ?? '';
    return digest !== '' && byName.get(instance)?.digest !== digest;
  });
  return [
    ...unknown.map(({ instance }): AuditFinding => {
      const text = 'the statement of its start was not signed by any of the keys';
      return { ...whole(instance), kind: 'unknown key', sequence: 0n, text };
    }),
    ...missing.map((instance): AuditFinding => {
      const text = 'the statement of its start is not the one that its checkpoints name';
      return { ...whole(instance), kind: 'removed', sequence: 0n, text };
    }),
  ];
}

async function checkChain(
  folder: string,
  instance: string,
  trusted: TrustedCheckpoints,
  facts: InstanceFacts,
  progress: (records: bigint) => void = () => undefined,
): Promise<CheckedChain> {
  const checkpoints = trusted.of(instance);
  const files = await logFilesOf(folder, instance);
  const marks: HashMarks = new Map(checkpoints.map(({ count }) => [count, undefined]));
  const walked = await walk({ instance, files, marks, keys: trusted.keys }, progress);
  const newest = checkpoints.at(-1)?.count ?? 0n;
  const signed = newest > walked.sealed ? newest : walked.sealed;
  const { count } = walked.head;
  const unsigned = count > signed ? count - signed : 0n;
  const finding =
    againstCheckpoints(instance, checkpoints, marks, walked) ??
    walked.finding ??
    (walked.broken && (await describeBreak(instance, files, walked.head, walked.broken))) ??
    unvouched(instance, checkpoints, walked) ??
    (unsigned > 0n && (await facts.isOver(instance))
      ? unended(instance, unsigned, signed)
      : undefined);
  const notes = [...walked.notes, ...recoveredNotes(instance, checkpoints)];
  return { instance, head: walked.head, unsigned, notes, ...(finding && { finding }) };
}

/** A chain whose process has ended and whose last records are not signed. */
function unended(instance: string, unsigned: bigint, signed: bigint): AuditFinding {
  const records = unsigned === 1n ? 'its last record has' : `its last ${unsigned} records have`;
  const text =
    `its process ended without a signed head, and ${records} no signature: ` +
    'the next start of a gateway signs what survived a kill';
  return { ...whole(instance), kind: 'unsigned', sequence: signed + 1n, text };
}

function recoveredNotes(instance: string, checkpoints: readonly Checkpoint[]): readonly string[] {
  const last = checkpoints.at(-1);
  if (last === undefined || last.recovered === '') return [];
  return [
    `${instance} ended without a signed head: ${last.recovered} signed the ${last.count} records that survived, at ${last.time}`,
  ];
}

interface Walked {
  readonly head: ChainHead;
  /** Number of records up to the last valid seal. */
  readonly sealed: bigint;
  readonly broken?: BrokenLine | undefined;
  readonly finding?: AuditFinding | undefined;
  readonly notes: readonly string[];
}

async function walk(chain: ChainFiles, progress: (records: bigint) => void): Promise<Walked> {
  const { instance, files } = chain;
  const notes: string[] = [];
  let head = firstHead(instance);
  let sealed = 0n;
  let previous: Stretch | undefined;
  for (const file of files) {
    const part = await walkPart(chain, { file, from: head, previous });
    notes.push(...part.notes);
    head = part.read.head;
    progress(head.count);
    if (part.finding !== undefined || part.read.broken !== undefined) {
      return { head, sealed, broken: part.read.broken, finding: part.finding, notes };
    }
    if (file.kind === 'segment') sealed = head.count;
    previous = part;
  }
  return { head, sealed, notes };
}

interface ChainFiles {
  readonly instance: string;
  readonly files: readonly LogFile[];
  readonly marks: HashMarks;
  readonly keys: readonly PublicKey[];
}

interface Part {
  readonly file: LogFile;
  readonly from: ChainHead;
  readonly previous: Stretch | undefined;
}

async function walkPart(chain: ChainFiles, part: Part): Promise<Stretch> {
  try {
    return await (part.file.kind === 'segment' ? walkSegment(chain, part) : walkLines(chain, part));
  } catch (error) {
    if (error instanceof ForeignFile) return foreignStretch(chain, part, error);
    throw error;
  }
}

/** The finding for a file of the log that was replaced by a link or by something else. */
function foreignStretch(
  { instance }: ChainFiles,
  { file, from }: Part,
  { what }: ForeignFile,
): Stretch {
  const sequence = from.count + 1n;
  const text = `the file that record ${sequence} belongs to ${what}: it was not read`;
  const finding: AuditFinding = { ...whole(instance), kind: 'removed', sequence, text };
  const read = { head: from, torn: false };
  return { file, from, read, notes: [], finding: { ...finding, file: file.path } };
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

/** A file and how far the chain is intact in it. */
interface Stretch {
  readonly file: LogFile;
  readonly from: ChainHead;
  readonly read: ChainProgress;
  readonly notes: readonly string[];
  readonly finding?: AuditFinding;
}

/**
 * Head at which the chain continues in the next file, if the previous file ends with records
 * that were never confirmed: after a failed flush the disk may keep them.
 */
async function rewound(previous: Stretch, { bytes }: BrokenLine): Promise<ChainHead | undefined> {
  const next = previous.file.kind === 'lines' ? sequenceIn(bytes.toString('latin1')) : undefined;
  if (next === undefined || next <= previous.from.count + 1n) return undefined;
  const count = next - 1n;
  if (count >= previous.read.head.count) return undefined;
  const marks: HashMarks = new Map([[count, undefined]]);
  await readChain(previous.file, previous.from, marks);
  const hash = marks.get(count);
  return hash === undefined ? undefined : { count, hash };
}

/** The fault of a chain that is intact, but differs from its checkpoints. */
function againstCheckpoints(
  instance: string,
  checkpoints: readonly Checkpoint[],
  marks: HashMarks,
  { head, broken, finding }: Walked,
): AuditFinding | undefined {
  let matched = 0n;
  for (const { count, hash, time } of checkpoints) {
    if (!marks.has(count)) continue;
    // Records after a fault were not verified.
    if (marks.get(count) === undefined && finding !== undefined) return undefined;
    if (count > head.count) {
      if (broken !== undefined || finding !== undefined) return undefined;
      const text = `the log ends after record ${head.count}, but ${count} were signed at ${time}`;
      return { ...whole(instance), kind: 'cut short', sequence: head.count + 1n, text };
    }
    if (marks.get(count) !== hash) {
      const text =
        `records ${matched + 1n} to ${count} are not those that were signed at ${time}: ` +
        'one of them was edited, and the hashes after it made anew';
      return { ...whole(instance), kind: 'edited', sequence: matched + 1n, text };
    }
    matched = count;
  }
  return undefined;
}

/** Maximum number of records before the first checkpoint, which follows the first change or the first second. */
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

/**
 * Head of a chain that is intact and agrees with its seals and checkpoints; undefined for
 * any other chain, and for one that is signed to its end.
 */
export async function soundHead(
  folder: string,
  instance: string,
  trusted: TrustedCheckpoints,
): Promise<ChainHead | undefined> {
  const { finding, head, unsigned } = await checkChain(folder, instance, trusted, noFacts);
  return finding === undefined && unsigned > 0n ? head : undefined;
}
