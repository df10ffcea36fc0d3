import { resolve } from 'node:path';
import type { Command } from 'commander';
import { policyEventsOf, type PolicyEvent } from '../../gateway/replay/policy-history.ts';
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
  const current = await currentDigest(config);
  return policyEventsOf(audit, { window, current, progress: meterOf(output, 'records') });
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
