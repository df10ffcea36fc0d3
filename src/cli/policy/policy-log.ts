import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { POLICIES_FOLDER } from '../../audit/chain/log-files.ts';
import { timeOf } from '../../audit/record/time.ts';
import { reportRequests } from '../../audit/search/report.ts';
import { searchRequests } from '../../audit/search/search.ts';
import { policyDigest, readPolicyTexts } from '../../policy/policy-folder.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { windowOf, withPeriod, type PeriodFlags } from '../config/key-details.ts';
import type { Config } from '../config/config-table.ts';
import { meterOf, type Run } from '../output/output.ts';
import { tableText, withTable, type TableFlags } from '../output/table.ts';
import { zoneOf, type Zone } from '../output/zone.ts';
import { bringArchive } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';

interface LogFlags extends PeriodFlags, TableFlags {
  readonly json?: boolean;
}

/** A policy that was in force, or a reload that was refused. */
export interface PolicyEvent {
  /** Null for a refused reload. */
  readonly digest: string | null;
  /** Reload, or the first request that it decided; null if it decided none. */
  readonly since: string | null;
  /** Last request that it decided. */
  readonly last: string | null;
  readonly requests: number;
  readonly lines_added: number | null;
  readonly lines_removed: number | null;
  readonly state: 'current' | 'archived' | 'not archived' | 'refused';
  /** Why a reload was refused. */
  readonly findings: string | null;
}

/** `arrowgate policy log`. */
export function addLog(policy: Command, run: Run): void {
  withTable(withPeriod(withConfig(policy.command('log'), ['policies', 'data'])))
    .description('list the policies that were in force, and the reloads that were refused')
    .option('--json', 'print JSON')
    .action(async (flags: LogFlags, command: Command) => {
      const events = await policyEvents(configOf(command), flags, run);
      const zone = zoneOf(flags.tz);
      run.output.line(
        flags.json === true ? JSON.stringify(events) : textOf(events, zone, flags, run),
      );
    });
}

/** The policies of a period, the oldest first. */
export async function policyEvents(
  config: Config,
  flags: PeriodFlags,
  run: Run,
): Promise<readonly PolicyEvent[]> {
  const window = windowOf(flags);
  const folder = await openedForReading(config);
  await bringArchive(config, folder, window, run);
  const { output } = run;
  const { audit } = folder;
  const archived = new Set(await readdir(join(audit, POLICIES_FOLDER)).catch((): string[] => []));
  const current = await currentDigest(config);
  const counted = await reportRequests(audit, 'policy_digest', window, meterOf(output, 'records'));
  const reloads = new Map<string, Reload>();
  const refused: PolicyEvent[] = [];
  for await (const found of searchRequests(audit, {
    ...window,
    operations: new Set(['PolicyReload']),
  })) {
    for (const { record, began } of found) {
      const { digest, lines_added: added, lines_removed: removed, findings } = record.context;
      if (digest === undefined) refused.push(refusedEvent(began, findings ?? null));
      else if (!reloads.has(digest)) reloads.set(digest, { began, added, removed });
    }
  }
  const events = counted.flatMap(({ key, requests, open, first, last }) => {
    if (key === null) return [];
    const reload = reloads.get(key);
    const state = key === current ? 'current' : archived.has(key) ? 'archived' : 'not archived';
    const own = reload === undefined ? 0 : 1;
    return [
      {
        digest: key,
        since: reload?.began ?? timeOf(first),
        last: timeOf(last),
        requests: requests + open - own,
        lines_added: numberOf(reload?.added),
        lines_removed: numberOf(reload?.removed),
        state,
        findings: null,
      } as const,
    ];
  });
  return [...events, ...refused].toSorted((one, other) =>
    (one.since ?? '') < (other.since ?? '') ? -1 : 1,
  );
}

interface Reload {
  readonly began: string;
  readonly added: string | undefined;
  readonly removed: string | undefined;
}

/** A first policy has no lines to compare with. */
function numberOf(text: string | undefined): number | null {
  return text === undefined || !/^\d+$/.test(text) ? null : Number(text);
}

function refusedEvent(since: string, findings: string | null): PolicyEvent {
  const nothing = { digest: null, last: null, requests: 0, lines_added: null, lines_removed: null };
  return { ...nothing, since, state: 'refused', findings };
}

/** Digest of the policy folder of the configuration, if there is one that can be read. */
async function currentDigest(config: Config): Promise<string | undefined> {
  return readPolicyTexts(resolve(config.policies)).then(policyDigest, () => undefined);
}

const columns = [
  { heading: 'SINCE', least: 20 },
  { heading: 'DIGEST', least: 13 },
  { heading: 'STATE' },
  { heading: 'REQUESTS' },
  { heading: 'LINES' },
  { heading: 'LAST', least: 11 },
  { heading: 'FINDINGS', least: 10 },
];

function textOf(events: readonly PolicyEvent[], zone: Zone, flags: TableFlags, run: Run): string {
  if (events.length === 0) return 'no request was decided by a policy';
  const rows = events.map((event) => [
    event.since === null ? '-' : zone.shown(event.since),
    event.digest ?? '-',
    event.state,
    String(event.requests),
    event.lines_added === null ? '-' : `+${event.lines_added} -${event.lines_removed}`,
    event.last === null ? '-' : zone.shown(event.last),
    event.findings?.replaceAll('\n', '; ') ?? '',
  ]);
  return tableText(columns, rows, flags, run.output);
}
