import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readKeys } from '../../gateway/identity/key-file.ts';
import { unusedOf, type Unused } from '../../gateway/replay/unused.ts';
import { loadPolicyLines } from '../../policy/load.ts';
import { configOf } from '../config/command-config.ts';
import { bringArchive, windowOfPeriod } from '../service/audit-archive.ts';
import { periodOf, type PeriodFlags } from '../config/key-details.ts';
import { openedForReading } from '../service/data-folder.ts';
import { meterOf, type Run } from '../output/output.ts';

export interface UnusedFlags extends PeriodFlags {
  readonly json?: boolean;
}

/** Does `arrowgate policy unused`. */
export async function printUnused(flags: UnusedFlags, command: Command, run: Run): Promise<void> {
  const unused = await reported(flags, command, run);
  const { lines, keys, roles, restrictions } = unused;
  const count = lines.length + keys.length + roles.length + restrictions.length;
  run.code = count === 0 ? 0 : 1;
  run.output.line(flags.json === true ? JSON.stringify(unused) : textOf(unused));
}

async function reported(flags: UnusedFlags, command: Command, run: Run): Promise<Unused> {
  const period = periodOf(flags);
  const config = configOf(command);
  const folder = await openedForReading(config);
  await bringArchive(config, folder, windowOfPeriod(period), run);
  const { output } = run;
  const { audit, keys: keyFile } = folder;
  const keys = await readKeys(keyFile);
  const policy = await loadPolicyLines(resolve(config.policies));
  return unusedOf(audit, { policy, keys, period, progress: meterOf(output, 'requests') });
}

function textOf({ requests, lines, keys, roles, restrictions, unknown }: Unused): string {
  const own = `${lines.length} lines, ${keys.length} keys and ${roles.length} roles`;
  const counts =
    restrictions.length === 0
      ? own
      : `${own}, and ${restrictions.length} restrictions or columns of them,`;
  return [
    ...lines.map(({ rule, text }) => `${rule}: ${text}`),
    ...keys.map(({ id, subject }) => `key ${id} of ${subject}`),
    ...roles.map((role) => `nobody who asked had ${role}`),
    ...restrictions.map(({ rule, name, column }) =>
      column === null
        ? `${rule}: the restriction ${name} bound no caller`
        : `${rule}: nobody whom the restriction ${name} binds read ${column}`,
    ),
    ...unknown.map(
      (digest) => `what the policy ${digest} decided by is not known: it was not kept`,
    ),
    `looked at ${requests} requests: ${counts} were used by none`,
  ].join('\n');
}
