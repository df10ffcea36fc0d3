import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isOperationName, operationNames } from '../../protocol/operations/operations.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { loadPolicyLines } from '../../policy/load.ts';
import { principalOf } from '../../gateway/identity/key-ring.ts';
import { parseObject } from '../../policy/lines/pattern.ts';
import { nearestName } from '../../policy/nearest.ts';
import { accessGroups } from '../../policy/lines/rights.ts';
import { roleSources, type RoleSource } from '../../policy/role-sources.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { activeKeys, knownKeys } from '../service/known-keys.ts';
import type { Run } from '../output/output.ts';
import { Table, withTable, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { supposedOf, supposing, type SupposedFlags } from './policy-supposed.ts';
import { UsageError } from '../output/service-error.ts';
import type { RestrictionSummary } from '../../policy/settings/restriction-book.ts';
import { principalsAllowed } from '../../policy/who.ts';

interface WhoFlags extends SupposedFlags, TableFlags {
  readonly json?: boolean;
  readonly action: string;
  readonly object: string;
}

/** `arrowgate policy who`. */
export function addWhoCommand(policy: Command, run: Run): void {
  const who = withTable(withConfig(policy.command('who'), ['policies', 'data']))
    .description('list the subjects and the keys that are allowed an action')
    .option('--json', 'print JSON')
    .requiredOption('--action <action>', 'an operation or an access group')
    .requiredOption('--object <path>', 'a canonical path, such as /prod/sales');
  supposing(who).action(async (flags: WhoFlags, command: Command) => {
    const config = configOf(command);
    const [action, object] = [actionOf(flags.action), objectOf(flags.object)];
    const loaded = await loadPolicyLines(resolve(config.policies));
    const { all, unseen } = await knownKeys(config);
    const keys = activeKeys(all ?? [], new Date()).map(principalOf);
    const found = principalsAllowed(loaded, action, object, supposedOf(action, flags), keys).map(
      (one) => ({
        subject: one.principal.subject,
        rule: one.rule,
        key: one.key,
        restrictions: one.restrictions,
        roles: roleSources(one.principal, loaded.roles, {
          roles: `key ${one.key}`,
          groups: `key ${one.key}`,
        }),
      }),
    );
    run.code = found.length > 0 ? 0 : 1;
    if (unseen !== undefined) run.output.note(`note: ${unseen}`);
    if (flags.json === true) run.output.line(JSON.stringify(found));
    else if (found.length === 0) run.output.line('nobody that the policy names, and no key');
    else for (const line of linesOf(found, flags, run)) run.output.line(line);
  });
}

interface Found {
  readonly subject: string;
  readonly rule: string | null;
  readonly key: string | null;
  readonly roles: readonly RoleSource[];
  readonly restrictions: readonly RestrictionSummary[];
}

const whoColumns: readonly PrintedColumn[] = [
  { heading: 'CALLER', least: 12 },
  { heading: 'LINE' },
  { heading: 'KEY' },
  { heading: 'ROLES', least: 12 },
];

/** A table, and below each row the restrictions that bind its caller. */
function linesOf(found: readonly Found[], flags: TableFlags, { output }: Run): readonly string[] {
  const lines = [...new Table(whoColumns, flags, output).lines(found.map(cellsOf))];
  const headings = lines.splice(0, lines.length - found.length);
  const bound = found.map(({ restrictions }) =>
    restrictions.map((one) => `  bound by ${restrictionText(one)}`),
  );
  return [...headings, ...lines.flatMap((line, at) => [line, ...bound[at]!])];
}

function cellsOf({ subject, rule, key, roles }: Found): readonly string[] {
  const given = roles.map(({ name, from }) => `${name} from ${from.join(', ')}`);
  return [subject, rule ?? '-', key ?? '-', given.join('; ') || '-'];
}

/** A restriction in one line: its name, its place, and what it does. */
export function restrictionText(summary: RestrictionSummary): string {
  const { name, rule, rows, columns, canary, freeze } = summary;
  const masked = Object.entries(columns).map(([column, as]) => `${column} ${as}`);
  const freezes = freeze === true ? ' (freezes the key)' : '';
  const does = [
    ...(rows === null ? [] : [`rows ${rows}`]),
    ...masked,
    ...(canary === undefined ? [] : [`canary ${canary}${freezes}`]),
  ];
  return `${name} (${rule}): ${does.join(', ')}`;
}

/** The action that a flag names. @throws UsageError */
export function actionOf(action: string): Action {
  const group = accessGroups.find((name) => name === action);
  if (group !== undefined) return group;
  if (isOperationName(action)) return action;
  const near = nearestName(action, [...operationNames, ...accessGroups]);
  const hint =
    near === undefined ? ': write one such as QueryTable or read' : `: did you mean ${near}?`;
  const what = `${JSON.stringify(action)} is neither an operation nor an access group`;
  throw new UsageError(`${what}${hint}`);
}

/** The object that a flag names. @throws UsageError */
export function objectOf(object: string): ObjectPath {
  const path = parseObject(object);
  if (path !== undefined) return path;
  throw new UsageError(`${JSON.stringify(object)} is not a canonical path such as /prod/sales`);
}
