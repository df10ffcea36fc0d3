import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isOperationName } from '../protocol/operations.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import type { Principal } from '../protocol/principal.ts';
import { loadCases, runCases } from '../policy/cases.ts';
import { explain, type Explanation } from '../policy/explain.ts';
import { lintPolicy } from '../policy/lint.ts';
import { loadPolicyLines } from '../policy/load.ts';
import { parseObject } from '../policy/pattern.ts';
import { formatFinding, PolicyError } from '../policy/policy-error.ts';
import { accessGroups } from '../policy/rights.ts';
import { whoMay } from '../policy/who.ts';
import { configOf, withConfig } from './command-config.ts';
import { principalName } from './key-details.ts';
import { columns } from './output.ts';
import { decisionOf, decisionText } from './policy-decision.ts';
import { addReplay } from './policy-replay.ts';
import { addUnused } from './policy-unused.ts';
import { supposedOf, supposing, type SupposedFlags } from './policy-supposed.ts';
import type { Run } from './run.ts';
import { UsageError } from './usage-error.ts';

interface JsonFlag {
  readonly json?: boolean;
}

interface QuestionFlags extends JsonFlag, SupposedFlags {
  readonly action: string;
  readonly object: string;
}

interface ExplainFlags extends JsonFlag, SupposedFlags {
  readonly action?: string;
  readonly object?: string;
  readonly subject?: string;
  readonly decisionId?: string;
  readonly group: readonly string[];
  readonly role: readonly string[];
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** `arrowgate policy check|explain|who|replay|unused`. */
export function addPolicy(program: Command, run: Run): void {
  const policy = program.command('policy').description('what the policy files say');
  addCheck(policy, run);
  addExplain(policy, run);
  addWho(policy, run);
  addReplay(policy, run);
  addUnused(policy, run);
}

function subcommand(policy: Command, name: string, about: string): Command {
  return withConfig(policy.command(name), ['policies'])
    .description(about)
    .option('--json', 'print JSON');
}

function question(command: Command): Command {
  return supposing(
    command
      .requiredOption('--action <action>', 'an operation or an access group')
      .requiredOption('--object <path>', 'a canonical path, such as /prod/sales'),
  );
}

function addCheck(policy: Command, run: Run): void {
  subcommand(policy, 'check', 'load the policy and run its cases').action(
    async (flags: JsonFlag, command: Command) => {
      const { findings, warnings, cases } = await checked(folderOf(command));
      run.code = findings.length === 0 ? 0 : 1;
      if (flags.json === true) {
        run.output.line(JSON.stringify({ findings, warnings, cases }));
        return;
      }
      for (const finding of findings) run.output.line(finding);
      for (const warning of warnings) run.output.line(`warning: ${warning}`);
      if (findings.length > 0) return;
      run.output.line(`the policy can be used; ${cases} cases come out as expected`);
    },
  );
}

interface Checked {
  readonly findings: readonly string[];
  readonly warnings: readonly string[];
  readonly cases: number;
}

async function checked(folder: string): Promise<Checked> {
  try {
    const loaded = await loadPolicyLines(folder);
    const cases = await loadCases(folder);
    const { findings, warnings } = lintPolicy(loaded);
    const failed = runCases(loaded.snapshot, cases);
    return {
      findings: [...findings, ...failed].map(formatFinding),
      warnings: warnings.map(formatFinding),
      cases: cases.length,
    };
  } catch (error) {
    if (error instanceof PolicyError) return { findings: error.findings, warnings: [], cases: 0 };
    throw error;
  }
}

function addExplain(policy: Command, run: Run): void {
  const explained = withConfig(policy.command('explain'), ['policies', 'data'])
    .description('say who may do what, and by which line')
    .option('--json', 'print JSON')
    .option('--action <action>', 'an operation or an access group')
    .option('--object <path>', 'a canonical path, such as /prod/sales')
    .option('--subject <name>', 'who asks')
    .option(
      '--decision-id <id>',
      'instead: an old decision of the audit log, by the policy of then',
    );
  supposing(explained)
    .option('--group <group>', 'a group of the subject; may be repeated', collect, [])
    .option('--role <role>', 'a role of the key; may be repeated', collect, [])
    .action(async (flags: ExplainFlags, command: Command) => {
      const { decisionId } = flags;
      if (decisionId !== undefined) return explainOld(decisionId, flags, command, run);
      const asked = askedOf(flags);
      const [action, object, principal] = [actionOf(asked), objectOf(asked), principalOf(asked)];
      const loaded = await loadPolicyLines(folderOf(command));
      const explanation = explain(loaded, principal, action, object, supposedOf(action, flags));
      run.code = explanation.verdict.allowed ? 0 : 1;
      run.output.line(flags.json === true ? JSON.stringify(explanation) : told(explanation));
    });
}

async function explainOld(id: string, flags: JsonFlag, command: Command, run: Run): Promise<void> {
  const explained = await decisionOf(configOf(command), id);
  run.code = explained.decision === 'allow' ? 0 : 1;
  run.output.line(flags.json === true ? JSON.stringify(explained) : decisionText(explained));
}

type AskedFlags = ExplainFlags & Required<Pick<ExplainFlags, 'subject' | 'action' | 'object'>>;

function askedOf(flags: ExplainFlags): AskedFlags {
  const { subject, action, object } = flags;
  if (subject !== undefined && action !== undefined && object !== undefined) {
    return { ...flags, subject, action, object };
  }
  throw new UsageError('give --subject, --action and --object, or --decision-id');
}

function told({ verdict, nearest }: Explanation): string {
  const line = verdict.rule === null ? '' : ` (${verdict.rule})`;
  const answer = `${verdict.allowed ? 'allow' : 'deny'}: ${verdict.reason}${line}`;
  return nearest === null ? answer : `${answer}\nnearest: ${nearest.rule}: ${nearest.text}`;
}

function addWho(policy: Command, run: Run): void {
  question(subcommand(policy, 'who', 'list the subjects that may do something')).action(
    async (flags: QuestionFlags, command: Command) => {
      const [action, object] = [actionOf(flags), objectOf(flags)];
      const loaded = await loadPolicyLines(folderOf(command));
      const found = whoMay(loaded, action, object, supposedOf(action, flags));
      run.code = found.length > 0 ? 0 : 1;
      if (flags.json === true) run.output.line(JSON.stringify(found));
      else if (found.length === 0) run.output.line('nobody that the policy names');
      else run.output.line(columns(found.map(({ subject, rule }) => [subject, rule ?? '-'])));
    },
  );
}

function folderOf(command: Command): string {
  return resolve(configOf(command).policies);
}

function actionOf({ action }: Pick<QuestionFlags, 'action'>): Action {
  const group = accessGroups.find((name) => name === action);
  if (group !== undefined) return group;
  if (isOperationName(action)) return action;
  throw new UsageError(`${JSON.stringify(action)} is neither an operation nor an access group`);
}

function objectOf({ object }: Pick<QuestionFlags, 'object'>): ObjectPath {
  const path = parseObject(object);
  if (path !== undefined) return path;
  throw new UsageError(`${JSON.stringify(object)} is not a canonical path such as /prod/sales`);
}

function principalOf(flags: AskedFlags): Principal {
  return {
    subject: principalName('user', flags.subject),
    groups: flags.group.map((name) => principalName('group', name)),
    roles: flags.role.map((name) => principalName('role', name)),
    credential: { kind: 'key', id: 'explained' },
  };
}
