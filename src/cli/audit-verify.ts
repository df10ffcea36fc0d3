import { resolve } from 'node:path';
import type { AuditFinding } from '../audit/audit-finding.ts';
import { anchorFile } from '../audit/checkpoint-place.ts';
import { readPublicKey, type PublicKey } from '../audit/signing-key.ts';
import { verifyLog, type AuditVerified } from '../audit/verification.ts';
import { countUnanswered } from '../audit/unanswered-count.ts';
import { readVouchers } from '../audit/vouchers.ts';
import { readCheckpointPlaces } from './audit-checkpoints.ts';
import type { Config } from './config-table.ts';
import { openedForReading, type ReadDataFolder } from './data-folder.ts';
import { Opened } from './opened.ts';
import { progressOf } from './progress.ts';
import type { Run } from './run.ts';

/** What `audit verify` is told. */
export interface VerifyFlags {
  readonly json?: boolean;
  readonly publicKey?: readonly string[];
  readonly anchor?: readonly string[];
}

/** Does `arrowgate audit verify`. */
export async function verifyAudit(config: Config, flags: VerifyFlags, run: Run): Promise<void> {
  const verified = await verify(config, flags, run);
  if (verified.findings.length > 0) run.code = 1;
  run.output.line(flags.json === true ? jsonOf(verified) : textOf(verified));
}

async function verify(config: Config, flags: VerifyFlags, { output }: Run): Promise<AuditVerified> {
  const folder = await openedForReading(config);
  const opened = new Opened();
  try {
    const anchors = (flags.anchor ?? []).map((path) => anchorFile(resolve(path)));
    const places = [...(await readCheckpointPlaces(config, folder, opened)), ...anchors];
    const vouchers = await readVouchers(places, await keysOf(config, folder, flags));
    const { progress } = progressOf(output);
    const verified = await verifyLog(folder.audit, vouchers, (records) =>
      progress?.(`${records} records`),
    );
    return { ...verified, notes: [...verified.notes, ...(await unansweredNotes(folder.audit))] };
  } finally {
    await opened.close();
  }
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

function jsonOf({ records, unsigned, findings, ...rest }: AuditVerified): string {
  const numbers = { records: Number(records), unsigned: Number(unsigned) };
  const found = findings.map((finding) => ({ ...finding, sequence: Number(finding.sequence) }));
  return JSON.stringify({ ...rest, ...numbers, findings: found });
}

function textOf({ instances, records, unsigned, findings, notes }: AuditVerified): string {
  const faults =
    findings.length === 0
      ? 'nothing is wrong'
      : `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`;
  return [
    ...findings.map(findingText),
    ...notes,
    `looked at ${records} records of ${instances} ${instances === 1 ? 'instance' : 'instances'}, ${unsigned} of them not signed yet: ${faults}`,
  ].join('\n');
}

function findingText({ kind, instance, file, line, text }: AuditFinding): string {
  const where = file === null ? instance : `${file}:${line}`;
  return `${where}: ${kind}: ${text}`;
}
