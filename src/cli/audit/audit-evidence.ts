import { resolve } from 'node:path';
import { ArrowError } from '../../arrow/arrow-error.ts';
import { RecordFault } from '../../audit/record/decoding.ts';
import { timeOf } from '../../audit/record/time.ts';
import { readSigningKey } from '../../audit/signing/keys.ts';
import { StatementFault } from '../../audit/signing/statement.ts';
import { searchRequests } from '../../audit/search/search.ts';
import { readOutline } from '../../engine/upkeep/verification/catalog-outline.ts';
import type { Config } from '../config/config-table.ts';
import { windowOf, type PeriodFlags } from '../config/key-details.ts';
import { csvLine } from '../output/csv.ts';
import { meterOf, type Run } from '../output/output.ts';
import { programVersion } from '../output/version.ts';
import { zoneOf } from '../output/zone.ts';
import { EvidenceCounts } from '../evidence/evidence-counts.ts';
import { writeWholeFolder, type EvidenceWriter } from '../evidence/evidence-folder.ts';
import { policyHistory } from '../evidence/policy-files.ts';
import { recordLines, recordsHeading } from '../evidence/records-csv.ts';
import { reportPage } from '../evidence/report-page.ts';
import { ReadMatrix } from '../evidence/who-can-read.ts';
import { policyEvents } from '../policy/policy-log.ts';
import {
  disk,
  openedForReading,
  withoutLinks,
  type ReadDataFolder,
} from '../service/data-folder.ts';
import { withKeyBook } from '../service/open-keys.ts';
import { activeKeys, keyInventory } from '../service/known-keys.ts';
import { verificationJson, verifiedLog, type VerifyFlags } from './audit-verify.ts';

export interface EvidenceFlags extends PeriodFlags, Pick<VerifyFlags, 'publicKey' | 'anchor'> {
  readonly json?: boolean;
}

/** What was written. */
interface WrittenEvidence {
  readonly folder: string;
  readonly since: string | null;
  readonly until: string;
  readonly requests: number;
  /** Findings of the verification of the log, and reasons why records are missing. */
  readonly findings: readonly string[];
  /** Id of the key that signed the digests; null for unsigned evidence. */
  readonly signer: string | null;
}

/** Does `arrowgate audit evidence`. @throws UsageError for flags and folders that can mean nothing */
export async function writeEvidence(
  config: Config,
  dir: string,
  flags: EvidenceFlags,
  run: Run,
): Promise<void> {
  const written = await evidenceOf(config, withoutLinks(resolve(dir)), flags, run);
  if (written.findings.length > 0) run.code = 1;
  run.output.line(flags.json === true ? JSON.stringify(written) : textOf(written));
}

async function evidenceOf(
  config: Config,
  target: string,
  flags: EvidenceFlags,
  run: Run,
): Promise<WrittenEvidence> {
  const now = new Date();
  const window = { until: BigInt(now.getTime()) * 1000n, ...windowOf(flags, now.getTime()) };
  const since = window.since === undefined ? null : timeOf(window.since);
  const zone = zoneOf(flags.tz);
  const folder = await openedForReading(config);
  const keyFile = config['audit.signing_key'];
  const signer = keyFile === null ? undefined : await readSigningKey(resolve(keyFile));
  const counts = new EvidenceCounts();
  const findings: string[] = [];
  await writeWholeFolder(target, folder.root, async (writer) => {
    const verification = await verifiedLog(config, flags, run);
    await writer.add('verification.json', `${verificationJson(verification)}\n`);
    findings.push(...verification.findings.map(({ instance, text }) => `${instance}: ${text}`));
    const lost = await writeRecords(writer, { folder, window, counts, run });
    const events = await policyEvents(config, flags, run).catch(damaged);
    const { inForce, last, limits } = await policyHistory(config, folder.audit, events ?? []);
    for (const { digest, files } of inForce) {
      for (const { name, text } of files) await writer.add(`policies/${digest}/${name}`, text);
    }
    const [stored, uses] = await withKeyBook(config, folder, (book) =>
      Promise.all([book.read(), book.uses()]),
    );
    const keys = stored.map((key) => keyInventory(key, uses, now));
    await writer.add('keys.json', `${JSON.stringify(keys, undefined, 2)}\n`);
    const outline = await readOutline(disk, folder.root);
    const tables = (outline?.tables ?? []).map(({ path }) => path);
    const cells = last && new ReadMatrix(last, activeKeys(stored, now), tables);
    if (cells !== undefined) await writeMatrix(writer, cells);
    findings.push(...lost);
    const page = reportPage({
      since,
      until: timeOf(window.until),
      made: now.toISOString(),
      version: programVersion(),
      zone,
      counts,
      verification,
      policies: inForce,
      matrix: last && cells && { digest: last.snapshot.digest, cells },
      keys,
      signer: signer?.public.id ?? null,
      limits: [...lost, ...limits, ...generalLimits],
    });
    await writer.add('report.html', page);
    await writer.seal(signer, now.toISOString());
  });
  const until = timeOf(window.until);
  const shared = { folder: target, since, until, requests: counts.requests, findings };
  return { ...shared, signer: signer?.public.id ?? null };
}

const generalLimits: readonly string[] = [
  'keys and tables are those of the time when this folder was made; the policy is the last one of the period',
  'the table of readers covers the tables of this catalog and not those of remote backends',
  'callers with tokens or certificates are shown by the names, groups and roles that the policy has lines for',
  'records older than audit.retain are removed from the log, and are not here',
];

interface RecordSource {
  readonly folder: ReadDataFolder;
  readonly window: { readonly since?: bigint; readonly until: bigint };
  readonly counts: EvidenceCounts;
  readonly run: Run;
}

/** Writes and counts the requests of the window. @returns Why requests are missing */
async function writeRecords(
  writer: EvidenceWriter,
  { folder, window, counts, run }: RecordSource,
): Promise<readonly string[]> {
  const progress = meterOf(run.output, 'requests');
  const lost: string[] = [];
  await writer.stream('records.csv', async (write) => {
    await write(recordsHeading());
    try {
      for await (const found of searchRequests(folder.audit, window)) {
        await write(recordLines(found));
        counts.add(found);
        progress(counts.requests);
      }
    } catch (error) {
      lost.push(`records.csv is incomplete: ${damageOf(error)}`);
    }
  });
  return lost;
}

/** Why a log cannot be read; evidence of a damaged log has what can be read. */
function damageOf(error: unknown): string {
  const kinds = [RecordFault, StatementFault, ArrowError];
  if (error instanceof Error && kinds.some((kind) => error instanceof kind)) return error.message;
  throw error;
}

function damaged(error: unknown): undefined {
  damageOf(error);
}

async function writeMatrix(writer: EvidenceWriter, matrix: ReadMatrix): Promise<void> {
  await writer.stream('who-can-read.csv', async (write) => {
    await write(csvLine(['table', 'subject', 'key', 'access', 'line', 'restrictions']));
    for (const table of matrix.tables) {
      const lines = matrix.row(table).map(({ caller, table: path, access, rule, restrictions }) => {
        const names = restrictions.map((one) => `${one.name} (${one.rule})`).join(' ');
        return csvLine([path, caller.subject, caller.key, access, rule, names]);
      });
      await write(lines.join(''));
    }
  });
}

function textOf({ folder, requests, findings, signer }: WrittenEvidence): string {
  const signed =
    signer === null
      ? 'not signed: set audit.signing_key to sign it'
      : `signed by the key ${signer}`;
  return [
    ...findings.map((finding) => `wrong: ${finding}`),
    `wrote the evidence of ${requests} requests to ${folder}, ${signed}`,
    `open ${folder}/report.html; arrowgate audit verify --evidence checks the folder`,
  ].join('\n');
}
