import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { History, PastCommit } from '../../engine/rules/history.ts';
import { loadPolicy } from '../../policy/load.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { stringifyJson } from '../../protocol/json.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { progressOf, type Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { TZ_ABOUT, zoneOf, type Zone } from '../output/zone.ts';
import { tablePathOf, withReading } from '../service/with-upkeep.ts';

interface CheckFlags {
  readonly json?: boolean;
  readonly tz?: string;
}

/** `arrowgate commits check`. */
export function addCommits(program: Command, run: Run): void {
  const commits = program.command('commits').description('the rules of commits.yaml');
  withConfig(commits.command('check'), ['data', 'policies', 'coordination.redis'])
    .argument('[table]', 'canonical path, such as /prod/sales; default: every table')
    .description('list past commits that the rules of a policy folder would have refused')
    .option('--tz <zone>', TZ_ABOUT)
    .option('--json', 'print JSON')
    .addHelpText('after', LIMITS)
    .action(async (table: string | undefined, flags: CheckFlags, command: Command) => {
      const zone = zoneOf(flags.tz);
      const history = await judged(table, command, run);
      if (history.refused.length > 0) run.code = 1;
      run.output.line(flags.json === true ? jsonOf(history) : textOf(history, zone));
    });
}

const LIMITS = `
Versions say what became of a table, not who made them: exceptions and contexts are not
looked at, webhooks are not asked, and drops, renames and tags are not among them.`;

async function judged(table: string | undefined, command: Command, run: Run): Promise<History> {
  const only = table === undefined ? undefined : tablePathOf(table);
  const { commits } = await loadPolicy(resolve(configOf(command).policies));
  const { progress } = progressOf(run.output);
  const history = await withReading(command, (reading) =>
    reading.judgePast({
      rules: commits.rules,
      ...(only !== undefined && { table: only }),
      onTable: (path) => progress?.(`judging ${canonicalPath(path)}`),
    }),
  );
  if (only === undefined || history.tables > 0) return history;
  throw new UsageError(`there is no table ${table} with versions`);
}

function jsonOf({ tables, commits, refused, unjudged }: History): string {
  return stringifyJson({
    tables,
    commits,
    refused: refused.map(entryOf),
    unjudged: unjudged.map(entryOf),
  });
}

function entryOf({ table, branch, version, timestampMillis, rule, fault }: PastCommit) {
  const time = new Date(timestampMillis).toISOString();
  return { table: canonicalPath(table), branch, version, time, rule, fault };
}

function textOf({ tables, commits, refused, unjudged }: History, zone: Zone): string {
  return [
    ...refused.map(
      (commit) => `${placeOf(commit, zone)} ${commit.rule} would refuse it: ${commit.fault}`,
    ),
    ...unjudged.map((commit) => `${placeOf(commit, zone)} not judged: ${commit.fault}`),
    `looked at ${commits} commits of ${tables} tables: ${refused.length} would have been refused, ${unjudged.length} could not be judged`,
  ].join('\n');
}

function placeOf({ table, branch, version, timestampMillis }: PastCommit, zone: Zone): string {
  const time = zone.shown(new Date(timestampMillis).toISOString());
  const line = branch === 'main' ? '' : ` on ${branch}`;
  return `${canonicalPath(table)}${line}, version ${version} of ${time}:`;
}
