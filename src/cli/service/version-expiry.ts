import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { POLICIES_FOLDER } from '../../audit/chain/log-files.ts';
import { ActRecords } from '../../audit/record/administrative.ts';
import type { AuditLog } from '../../audit/writer.ts';
import { judging, noRules, type RulesOptions } from '../../engine/rules/commit-judge.ts';
import { expiryJudge, RETENTION } from '../../engine/rules/expiry-judge.ts';
import type { RecordMerge } from '../../engine/upkeep/jobs/background-compaction.ts';
import type { ExpiryOptions, RecordExpiry } from '../../engine/upkeep/retention/expiry.ts';
import { loadPolicy } from '../../policy/load.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { COMMITS_FILE } from '../../rules/commit-rule.ts';
import { processEnvironment } from '../config/config-environment.ts';
import type { Config } from '../config/config-table.ts';
import type { ReadDataFolder } from './data-folder.ts';
import { recordedIn } from './recorded-command.ts';

/** The configured retention of versions, with the commit rules that judge removals. */
export function expiryOf(
  config: Config,
  source: RulesOptions['source'],
): Pick<ExpiryOptions, 'policy' | 'judge'> {
  const secret = (name: string) => processEnvironment()[name];
  return {
    policy: {
      keepForMillis: config['versions.keep_for'],
      keepLast: config['versions.keep_last'],
    },
    judge: expiryJudge(judging(source, secret, Date.now)),
  };
}

/**
 * The commit rules for a command that removes versions; undefined if there are some, but the policy
 * folder is missing. Without a policy folder there are none unless a service had some.
 * @throws PolicyError for a policy that a service would refuse.
 */
export async function rulesForExpiry(
  config: Config,
  { audit }: Pick<ReadDataFolder, 'audit'>,
): Promise<RulesOptions['source'] | undefined> {
  const folder = resolve(config.policies);
  if ((await namesIn(folder)) !== undefined) {
    const { commits } = await loadPolicy(folder);
    return () => commits;
  }
  return (await hadRules(join(audit, POLICIES_FOLDER))) ? undefined : () => noRules;
}

async function hadRules(archive: string): Promise<boolean> {
  for (const digest of (await namesIn(archive)) ?? []) {
    if ((await namesIn(join(archive, digest)))?.includes(COMMITS_FILE) === true) return true;
  }
  return false;
}

async function namesIn(folder: string): Promise<readonly string[] | undefined> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** Most ranges of versions that a record names. */
const RANGES = 50;

/** Records removals of expired versions in the audit log, as `system:retention`. */
export function expiryRecorder(audit: Pick<AuditLog, 'write'>): RecordExpiry {
  return async ({ path, branch, keepForMillis, keepLast }, work) => {
    const records = new ActRecords({
      operation: 'CatalogExpire',
      subject: RETENTION,
      object: canonicalPath(path),
      details: {
        branch,
        keep_for: `${keepForMillis / 1000}s`,
        keep_last: String(keepLast),
      },
    });
    await recordedIn(audit, records, async () => {
      const versions = await work();
      const details = { removed: String(versions.length), versions: rangesOf(versions) };
      return { result: undefined, details };
    });
  };
}

/** Versions as ranges such as `1..20, 23`. */
function rangesOf(versions: readonly bigint[]): string {
  const ranges: { readonly first: bigint; last: bigint }[] = [];
  for (const version of versions) {
    const open = ranges.at(-1);
    if (open?.last === version - 1n) open.last = version;
    else ranges.push({ first: version, last: version });
  }
  const shown = ranges.slice(0, RANGES).map(rangeText);
  return [...shown, ...(ranges.length > RANGES ? ['…'] : [])].join(', ');
}

function rangeText({ first, last }: { readonly first: bigint; readonly last: bigint }): string {
  return first === last ? String(first) : `${first}..${last}`;
}

/** Subject of merges in the background in the audit log. */
const COMPACTION = 'system:compaction';

/** Records merges of small files in the background in the audit log, as `system:compaction`. */
export function mergeRecorder(audit: Pick<AuditLog, 'write'>): RecordMerge {
  return async ({ path, branch, merged, made }, work) => {
    const records = new ActRecords({
      operation: 'CatalogCompact',
      subject: COMPACTION,
      object: canonicalPath(path),
      details: { branch, files_before: String(merged), files_after: String(made) },
    });
    await recordedIn(audit, records, async () => {
      const version = await work();
      return { result: undefined, details: { version: String(version) } };
    });
  };
}
