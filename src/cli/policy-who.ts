import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isOperationName } from '../protocol/operations.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import { loadPolicyLines } from '../policy/load.ts';
import { principalOf } from '../gateway/key-ring.ts';
import { parseObject } from '../policy/pattern.ts';
import { accessGroups } from '../policy/rights.ts';
import { roleSources, type RoleSource } from '../policy/role-sources.ts';
import { whoMay } from '../policy/who.ts';
import { configOf, withConfig } from './command-config.ts';
import { activeKeys, knownKeys } from './known-keys.ts';
import { columns } from './output.ts';
import { supposedOf, supposing, type SupposedFlags } from './policy-supposed.ts';
import type { Run } from './run.ts';
import { UsageError } from './usage-error.ts';

interface WhoFlags extends SupposedFlags {
  readonly json?: boolean;
  readonly action: string;
  readonly object: string;
}

/** `arrowgate policy who`. */
export function addWho(policy: Command, run: Run): void {
  const who = withConfig(policy.command('who'), ['policies', 'data'])
    .description('list the subjects and the keys that may do something')
    .option('--json', 'print JSON')
    .requiredOption('--action <action>', 'an operation or an access group')
    .requiredOption('--object <path>', 'a canonical path, such as /prod/sales');
  supposing(who).action(async (flags: WhoFlags, command: Command) => {
    const config = configOf(command);
    const [action, object] = [actionOf(flags.action), objectOf(flags.object)];
    const loaded = await loadPolicyLines(resolve(config.policies));
    const { all, unseen } = await knownKeys(config);
    const keys = activeKeys(all ?? [], new Date()).map(principalOf);
    const found = whoMay(loaded, action, object, supposedOf(action, flags), keys).map((one) => ({
      subject: one.principal.subject,
      rule: one.rule,
      key: one.key,
      roles: roleSources(one.principal, loaded.roles, {
        roles: `key ${one.key}`,
        groups: `key ${one.key}`,
      }),
    }));
    run.code = found.length > 0 ? 0 : 1;
    if (unseen !== undefined) run.output.note(`note: ${unseen}`);
    if (flags.json === true) run.output.line(JSON.stringify(found));
    else if (found.length === 0) run.output.line('nobody that the policy names, and no key');
    else run.output.line(columns(found.map(cellsOf)));
  });
}

interface Found {
  readonly subject: string;
  readonly rule: string | null;
  readonly key: string | null;
  readonly roles: readonly RoleSource[];
}

function cellsOf({ subject, rule, key, roles }: Found): readonly string[] {
  const given = roles.map(({ name, from }) => `${name} from ${from.join(', ')}`);
  return [subject, rule ?? '-', key === null ? '' : `key ${key}`, given.join('; ')];
}

/** The action that a flag names. @throws UsageError */
export function actionOf(action: string): Action {
  const group = accessGroups.find((name) => name === action);
  if (group !== undefined) return group;
  if (isOperationName(action)) return action;
  throw new UsageError(`${JSON.stringify(action)} is neither an operation nor an access group`);
}

/** The object that a flag names. @throws UsageError */
export function objectOf(object: string): ObjectPath {
  const path = parseObject(object);
  if (path !== undefined) return path;
  throw new UsageError(`${JSON.stringify(object)} is not a canonical path such as /prod/sales`);
}
