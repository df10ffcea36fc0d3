import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readRequests } from '../../audit/decided/reader.ts';
import { readKeys } from '../../gateway/identity/key-file.ts';
import { keyState, type StoredKey } from '../../gateway/identity/keys.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import { Usage } from '../../gateway/replay/usage.ts';
import { linesOfText } from '../../policy/lines/line-text.ts';
import { loadPolicyLines, type LoadedPolicy } from '../../policy/load.ts';
import { restrictionRule } from '../../policy/settings/restriction-book.ts';
import { ruleName } from '../../policy/lines/policy-line.ts';
import { configOf } from '../config/command-config.ts';
import { bringArchive, windowOfPeriod } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';
import { periodOf, type PeriodFlags } from '../config/key-details.ts';
import { meterOf, type Run } from '../output/output.ts';

export interface UnusedFlags extends PeriodFlags {
  readonly json?: boolean;
}

interface UnusedLine {
  /** `file:line`. */
  readonly rule: string;
  readonly text: string;
}

/** A restriction that bound nobody, or a column of one that nobody read whom it bound. */
interface UnusedRestriction {
  /** `file:line`. */
  readonly rule: string;
  readonly name: string;
  /** Null for the whole restriction. */
  readonly column: string | null;
}

interface Unused {
  readonly requests: number;
  readonly lines: readonly UnusedLine[];
  readonly keys: readonly { readonly id: string; readonly subject: string }[];
  readonly roles: readonly string[];
  readonly restrictions: readonly UnusedRestriction[];
  /** Digests of policies that decided, and whose text is not archived. */
  readonly unknown: readonly string[];
}

/** Does `arrowgate policy unused`. */
export async function printUnused(flags: UnusedFlags, command: Command, run: Run): Promise<void> {
  const unused = await unusedOf(flags, command, run);
  const { lines, keys, roles, restrictions } = unused;
  const count = lines.length + keys.length + roles.length + restrictions.length;
  run.code = count === 0 ? 0 : 1;
  run.output.line(flags.json === true ? JSON.stringify(unused) : textOf(unused));
}

async function unusedOf(flags: UnusedFlags, command: Command, run: Run): Promise<Unused> {
  const period = periodOf(flags);
  const config = configOf(command);
  const folder = await openedForReading(config);
  await bringArchive(config, folder, windowOfPeriod(period), run);
  const { output } = run;
  const { audit, keys: keyFile } = folder;
  const policies = new PoliciesBefore(audit);
  const policy = await loadPolicyLines(resolve(config.policies));
  const usage = new Usage({ policy, before: (digest) => policies.of(digest) });
  const progress = meterOf(output, 'requests');
  for await (const requests of readRequests(audit, period)) {
    await usage.add(requests);
    progress(usage.requests);
  }
  const keys = await readKeys(keyFile);
  return {
    requests: usage.requests,
    lines: linesOf(policy, usage),
    keys: keys
      .filter((key) => keyState(key, new Date()) === 'active' && !usage.credentials.has(key.id))
      .map(({ id, subject }) => ({ id, subject })),
    roles: rolesOf(policy, keys).filter((role) => !usage.names.has(role)),
    restrictions: restrictionsOf(policy, usage),
    unknown: [...usage.unknown],
  };
}

function linesOf({ policies, roles, texts }: LoadedPolicy, usage: Usage): readonly UnusedLine[] {
  const written = linesOfText(texts.policy);
  return [...policies, ...roles]
    .map(({ line }) => line)
    .filter((line) => !usage.lines.has(line))
    .sort((one, other) => one - other)
    .map((line) => ({ rule: ruleName(line), text: written[line - 1] ?? '' }));
}

function restrictionsOf(
  { snapshot }: LoadedPolicy,
  { restrictions, columnsRead }: Usage,
): readonly UnusedRestriction[] {
  return snapshot.restrictions.restrictions.flatMap((one): readonly UnusedRestriction[] => {
    const shared = { rule: restrictionRule(one), name: one.name };
    if (!restrictions.has(one.name)) return [{ ...shared, column: null }];
    // Nobody can read a hidden column.
    return one.columns
      .filter(
        ({ column, as }) => as !== 'hidden' && columnsRead.get(one.name)?.has(column) !== true,
      )
      .map(({ column }) => ({ ...shared, column }));
  });
}

/** Every role that a line or a key names. */
function rolesOf({ policies, roles }: LoadedPolicy, keys: readonly StoredKey[]): readonly string[] {
  const names = [
    ...policies.map(({ subject }) => subject),
    ...roles.flatMap(({ member, role }) => [member, role]),
    ...keys.flatMap((key) => key.roles),
  ];
  return [...new Set(names)].filter((name) => name.startsWith('role:')).sort();
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
