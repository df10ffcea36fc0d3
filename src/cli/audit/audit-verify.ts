import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { AuditFinding } from '../../audit/checkpoints/finding.ts';
import { anchorFile } from '../../audit/checkpoints/places.ts';
import { isOver } from '../../audit/instances/owner.ts';
import { parseStart, readStarts, type InstanceStart } from '../../audit/instances/start.ts';
import { readKeyLinks, withLinked } from '../../audit/signing/links.ts';
import { readPublicKey, type PublicKey } from '../../audit/signing/keys.ts';
import {
  ARCHIVED_MILLIS,
  verifyLog,
  type VerificationResult,
} from '../../audit/verification/verification.ts';
import {
  readTrustedCheckpoints,
  type QueriedPlace,
  type TrustedCheckpoints,
} from '../../audit/checkpoints/trusted.ts';
import { checkpointLocation, readCheckpointPlaces } from '../service/audit-checkpoints.ts';
import { archiveToVerify, type ArchiveToVerify } from '../service/audit-archive.ts';
import type { Config } from '../config/config-table.ts';
import { openedForReading, type ReadDataFolder } from '../service/data-folder.ts';
import { Opened } from '../service/opened.ts';
import { meterOf, type Run } from '../output/output.ts';
import { ForeignFile, instancesOf, linePieces } from '../../audit/chain/log-files.ts';
import { logPartsOf, type LogPart } from '../../audit/segments/log-part.ts';
import { openSegment } from '../../audit/segments/segment-file.ts';
import { wordEquals, wordsWhere } from '../../audit/record/word-codes.ts';
import { isMissing, isOutage } from '../../storage/storage-error.ts';

const ATTEMPT = Buffer.from(',"phase":"attempt","time":"');
const OUTCOME = Buffer.from(',"phase":"outcome","time":"');

/** How many attempts of a log have no outcome: counts are compared, records are not read. */
export async function countUnanswered(folder: string): Promise<number> {
  let open = 0;
  for (const part of await logPartsOf(folder)) open += await balanceOf(part);
  // Outcomes are kept longer than their attempts where these are at the end of a segment.
  return Math.max(0, open);
}

async function balanceOf({ file, seal }: LogPart): Promise<number> {
  try {
    return seal === undefined ? await balanceOfLines(file.path) : await balanceOfSegment(file.path);
  } catch (error) {
    // It was sealed or removed meanwhile, or is a finding of the verification.
    if (isMissing(error) || error instanceof ForeignFile) return 0;
    throw error;
  }
}

async function balanceOfLines(path: string): Promise<number> {
  let open = 0;
  for await (const { bytes, torn } of linePieces(path)) {
    if (!torn) open += occurrences(bytes, ATTEMPT) - occurrences(bytes, OUTCOME);
  }
  return open;
}

function occurrences(bytes: Buffer, text: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length))
    count += 1;
  return count;
}

async function balanceOfSegment(path: string): Promise<number> {
  const segment = await openSegment(path);
  const { file, scratch } = segment;
  const isAttempt = wordsWhere(wordEquals('attempt'));
  try {
    let open = 0;
    for (let index = 0; index < file.batchRows.length; index++) {
      const { data } = await file.readBatch(index, ['phase'], { access: scratch });
      const attempts = isAttempt(data.children[0]!)?.reduce((sum, mark) => sum + mark, 0) ?? 0;
      open += 2 * attempts - data.length;
      scratch.reset();
    }
    return open;
  } finally {
    segment.close();
  }
}

/** Flags of `audit verify`, of the log and of evidence. */
export interface VerifyFlags {
  readonly json?: boolean;
  readonly publicKey?: readonly string[];
  readonly anchor?: readonly string[];
}

/** Does `arrowgate audit verify` of the log. */
export async function verifyAudit(config: Config, flags: VerifyFlags, run: Run): Promise<void> {
  const verified = await verifiedLog(config, flags, run);
  if (verified.findings.length > 0) run.code = 1;
  run.output.line(flags.json === true ? verificationJson(verified) : textOf(verified));
}

interface Verification extends VerificationResult {
  /** From the start of the first instance to the newest signed head; null where there is neither. */
  readonly from: string | null;
  readonly to: string | null;
  /** Fingerprints of the keys whose signatures count, and where the trust in each comes from. */
  readonly keys: readonly { readonly id: string; readonly why: string }[];
  /** Where records were read. */
  readonly read: readonly ReadPlace[];
  /** Places in which checkpoints were searched. */
  readonly places: readonly QueriedPlace[];
  /** Limits of this verification. */
  readonly unknown: readonly string[];
}

/** A place of records, and how many instances were read there. */
interface ReadPlace {
  readonly name: string;
  readonly instances: number;
}

/** Verifies the audit log of a configuration. */
export async function verifiedLog(
  config: Config,
  flags: VerifyFlags,
  { output }: Run,
): Promise<Verification> {
  const folder = await openedForReading(config);
  const opened = new Opened();
  try {
    const anchors = (flags.anchor ?? []).map((path) => anchorFile(resolve(path)));
    const archive = await readArchive(config, folder, opened);
    const places = [
      ...(await readCheckpointPlaces(config, folder, opened)),
      ...anchors,
      ...(archive.read === undefined ? [] : [archive.read.checkpoints]),
    ];
    const given = await keysOf(config, folder, flags);
    const published = publishedKeys(config, flags, archive.read);
    const trusted = withLinked([...given, ...published], await readKeyLinks(folder.keyLinks));
    const vouchers = await readTrustedCheckpoints(places, trusted);
    const starts = [
      ...(await readStarts(folder.auditStarts, trusted)),
      ...archivedStarts(archive.read, trusted),
    ];
    const log = { folder: folder.audit, processes: folder.auditProcesses };
    const archived = new Set(archive.read?.instances ?? []);
    const total = vouchers.instances.reduce(
      (sum, instance) => sum + Number(vouchers.of(instance).at(-1)?.count ?? 0),
      0,
    );
    const verified = await verifyLog(
      folder.audit,
      vouchers,
      meterOf(output, 'records', { total }),
      {
        starts,
        isOver: async (instance) => !archived.has(instance) && isOver(log, instance),
        ...(archive.read && { archived: archive.read }),
      },
    );
    const { findings, notes } = withoutLate(verified, vouchers, archive.read);
    const missing = unqueriedPlaces(starts, config, anchors.length > 0);
    return {
      ...verified,
      findings: [...archive.findings, ...missing, ...findings],
      notes: [...notes, ...(await unansweredNotes(folder.audit))],
      ...periodOf(verified),
      read: await readPlaces(config, folder, archive.read),
      keys: trusted.map(({ id }) => ({ id, why: whyTrusted(id, given, published, flags) })),
      places: vouchers.places,
      unknown: unknowable(config, flags, published.length > 0),
    };
  } finally {
    await opened.close();
  }
}

async function readPlaces(
  config: Config,
  { audit }: ReadDataFolder,
  archive: ArchiveToVerify | undefined,
): Promise<readonly ReadPlace[]> {
  const here = { name: audit, instances: (await instancesOf(audit)).length };
  if (archive === undefined) return [here];
  const instances = archive.instances.length + archive.own.length;
  return [here, { name: `the archive ${config['audit.archive'] ?? ''}`, instances }];
}

interface ReadArchive {
  /** Undefined without an archive, or one that cannot be read. */
  readonly read: ArchiveToVerify | undefined;
  readonly findings: readonly AuditFinding[];
}

async function readArchive(
  config: Config,
  folder: ReadDataFolder,
  opened: Opened,
): Promise<ReadArchive> {
  try {
    const read = await archiveToVerify(config, folder);
    opened.add(() => read?.close());
    return { read, findings: [] };
  } catch (error) {
    if (!isOutage(error)) throw error;
    const text = `the audit archive cannot be read, so nothing in it is verified: ${error.message}`;
    const name = config['audit.archive'] ?? '';
    return { read: undefined, findings: [notAskedFinding(name, text)] };
  }
}

/** Keys that gateways published; they count only where no key was configured or given. */
function publishedKeys(
  config: Config,
  flags: VerifyFlags,
  archive: ArchiveToVerify | undefined,
): readonly PublicKey[] {
  const hasOther = config['audit.signing_key'] !== null || flags.publicKey !== undefined;
  return hasOther ? [] : (archive?.keys ?? []);
}

function archivedStarts(
  archive: ArchiveToVerify | undefined,
  keys: readonly PublicKey[],
): readonly InstanceStart[] {
  const starts = [...(archive?.starts ?? [])];
  return starts.map(([instance, text]) => parseStart(instance, text, keys));
}

/** Another gateway signs records some seconds before they are in the archive: these are notes and no findings. */
function withoutLate(
  { findings, notes }: VerificationResult,
  vouchers: TrustedCheckpoints,
  archive: ArchiveToVerify | undefined,
): Pick<VerificationResult, 'findings' | 'notes'> {
  if (archive === undefined) return { findings, notes };
  const isLate = ({ kind, instance, file }: AuditFinding): boolean => {
    const isEnd = kind === 'cut short' || (kind === 'removed' && file === null);
    const signed = vouchers.of(instance).at(-1)?.time;
    return isEnd && signed !== undefined && Date.now() - Date.parse(signed) < ARCHIVED_MILLIS;
  };
  const late = findings.filter(isLate).map(({ instance }) => instance);
  const found = late.map(
    (instance) => `${instance}: its newest signed records are not in the archive yet`,
  );
  return { findings: findings.filter((each) => !isLate(each)), notes: [...notes, ...found] };
}

/** Places in which instances kept checkpoints, and which were not searched. */
function unqueriedPlaces(
  starts: readonly InstanceStart[],
  config: Config,
  hasAnchor: boolean,
): readonly AuditFinding[] {
  const trusted = starts.filter((start) => start.trusted);
  const checked = [checkpointLocation(config).store, 'embedded'];
  const stores = new Map(trusted.map((start) => [start.store, start]));
  const findings = [...stores.values()]
    .filter(({ store }) => !checked.includes(store))
    .map(({ store, instance }) => {
      const catalog = store.slice(store.indexOf(':') + 1);
      const text = `it kept its checkpoints in Redis, catalog ${catalog}, which was not asked: give --redis and the configuration of the gateway`;
      return notAskedFinding(instance, text);
    });
  const anchored = trusted.findLast(({ anchor }) => anchor !== '');
  if (anchored === undefined || hasAnchor || config['audit.anchor_file'] !== null) return findings;
  const text = `it kept its checkpoints in the anchor file ${anchored.anchor}, which was not asked: give --anchor`;
  return [...findings, notAskedFinding(anchored.instance, text)];
}

function notAskedFinding(instance: string, text: string): AuditFinding {
  return { kind: 'not asked', instance, file: null, line: null, sequence: 0n, text };
}

/** Names of instances begin with the time of their start. */
const BEGAN = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-/;

function periodOf({ heads }: VerificationResult): Pick<Verification, 'from' | 'to'> {
  const began = heads.flatMap(({ instance }) => BEGAN.exec(instance) ?? []);
  const [, year, month, day, hour, minute, second] = began;
  const times = heads.flatMap(({ time }) => time ?? []).sort();
  const from = year === undefined ? null : `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  return { from, to: times.at(-1) ?? null };
}

function whyTrusted(
  id: string,
  given: readonly PublicKey[],
  published: readonly PublicKey[],
  flags: VerifyFlags,
): string {
  const isPublished = published.some((key) => key.id === id);
  if (isPublished && !given.some((key) => key.id === id)) return 'published in the audit archive';
  if (!given.some((key) => key.id === id)) return 'linked: a trusted key signed for it';
  return flags.publicKey === undefined ? 'the key in use' : 'given with --public-key';
}

function unknowable(config: Config, flags: VerifyFlags, hasPublished: boolean): readonly string[] {
  const isOwnKey = config['audit.signing_key'] === null && flags.publicKey === undefined;
  const isAnchored =
    config['audit.anchor_file'] !== null ||
    flags.anchor !== undefined ||
    config['coordination.redis'] !== null;
  return [
    ...(isOwnKey
      ? [
          'the keys were taken from the data folder: the owner of its disk could have rewritten the log and signed it again; --public-key with a key that is kept elsewhere rules that out',
        ]
      : []),
    ...(hasPublished
      ? [
          'the keys of other gateways were taken from the archive: a writer of the bucket could have published a key and signed another log; one audit.signing_key for all gateways, or --public-key, rules that out',
        ]
      : []),
    ...(isAnchored
      ? []
      : [
          'all checkpoints were taken from the data folder: whether the whole folder was put back to an older copy, or its newest instances were deleted with their checkpoints, shows only in an anchor file or a store elsewhere',
        ]),
    'records that a process wrote in its last second before a kill may be missing: nobody had signed for them',
  ];
}

/** A log whose records cannot be read has findings, which say more. */
async function unansweredNotes(folder: string): Promise<readonly string[]> {
  const count = await countUnanswered(folder).catch(() => 0);
  if (count === 0) return [];
  const what = count === 1 ? '1 attempt has no outcome' : `${count} attempts have no outcome`;
  return [`${what}: it goes on, or the next start of a gateway says what became of it`];
}

async function keysOf(
  config: Config,
  folder: ReadDataFolder,
  { publicKey }: VerifyFlags,
): Promise<readonly PublicKey[]> {
  if (publicKey === undefined) {
    return [await readPublicKey(resolve(config['audit.signing_key'] ?? folder.signingKey))];
  }
  return Promise.all(publicKey.map((path) => readPublicKey(resolve(path))));
}

/** The result as `--json` prints it. */
export function verificationJson(verified: Verification): string {
  return JSON.stringify(verified, (_, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
}

function textOf(verified: Verification): string {
  const { instances, records, unsigned, findings, notes } = verified;
  const faults =
    findings.length === 0
      ? 'nothing is wrong'
      : `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`;
  return [
    ...findings.map(findingText),
    ...notes,
    ...basisOf(verified),
    `looked at ${records} records of ${instances} ${instances === 1 ? 'instance' : 'instances'}, ${unsigned} of them not signed yet: ${faults}`,
  ].join('\n');
}

/** The evidence that the result is based on, and its limits. */
function basisOf({
  from,
  to,
  heads,
  keys,
  read,
  places,
  unknown,
}: Verification): readonly string[] {
  const digest = createHash('sha256');
  for (const { instance, count, hash } of heads) digest.update(`${instance} ${count} ${hash}\n`);
  const last = heads.at(-1);
  return [
    `period: ${from ?? 'no start'} to ${to ?? 'no signed head'}`,
    ...(last === undefined
      ? []
      : [`newest head: ${last.instance} ${last.count} ${last.hash}, signed up to ${last.signed}`]),
    `all heads: SHA-256 ${digest.digest('hex')}`,
    ...read.map(({ name, instances }) => `read: ${instances} instances in ${name}`),
    ...keys.map(({ id, why }) => `key: ${id} (${why})`),
    ...places.map(({ name, checkpoints }) => `checkpoints: ${checkpoints} in ${name}`),
    ...unknown.map((sentence) => `cannot be known: ${sentence}`),
  ];
}

function findingText({ kind, instance, file, line, text }: AuditFinding): string {
  const where = file === null ? instance : `${file}:${line}`;
  return `${where}: ${kind}: ${text}`;
}
