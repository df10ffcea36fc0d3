import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  endedSentence,
  keyState,
  noKeySentence,
  type StoredKey,
} from '../../gateway/identity/keys.ts';
import { principalOf } from '../../gateway/identity/key-ring.ts';
import { explain, type Explanation } from '../../policy/explain.ts';
import { loadPolicyLines, type FolderPolicy } from '../../policy/load.ts';
import { roleSources, type RoleSource } from '../../policy/role-sources.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Principal, KeyScope } from '../../protocol/principal.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import { principalName, typedKeyId } from '../config/key-details.ts';
import { activeKeys, knownKeys, type KnownKeys } from '../service/known-keys.ts';
import { actionOf, objectOf, restrictionText } from './policy-who.ts';
import { supposedOf, supposing, type SupposedFlags } from './policy-supposed.ts';
import type { Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { zoneOf, type Zone } from '../output/zone.ts';
import type { DecidedRequest } from '../../audit/decided/request.ts';
import { readRequests } from '../../audit/decided/reader.ts';
import { explainRecorded, type RecordedExplanation } from '../../gateway/replay/explanation.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import { bringArchive } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';

interface ExplainFlags extends SupposedFlags {
  readonly json?: boolean;
  readonly tz?: string;
  readonly action?: string;
  readonly object?: string;
  readonly subject?: string;
  readonly key?: string;
  readonly decisionId?: string;
  readonly group: readonly string[];
  readonly role: readonly string[];
  readonly ctx: readonly string[];
}

/** A credential that a request may come with. */
interface Credential {
  readonly principal: Principal;
  /** Description of the credential, and the source of its roles and groups. */
  readonly credential: string;
  /** Why it proves nothing any more. */
  readonly ended?: string;
}

/** The decision for one credential. */
interface CredentialAnswer extends Explanation {
  readonly credential: string;
  readonly subject: string;
  readonly roles: readonly RoleSource[];
  readonly scopes: readonly KeyScope[] | null;
  /** `KEY=VALUE` of each entry that the credential gives to the context. */
  readonly context: readonly string[];
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** `arrowgate policy explain`. */
export function addExplain(policy: Command, run: Run): void {
  const explained = withConfig(policy.command('explain'), ['policies', 'data'])
    .description('explain a decision: the deciding line, and the source of each role')
    .option('--json', 'print JSON')
    .option('--tz <zone>', 'with --decision-id: zone of the printed time')
    .option('--action <action>', 'an operation or an access group')
    .option('--object <path>', 'a canonical path, such as /prod/sales')
    .option('--subject <name>', 'the caller, with any key of the subject')
    .option('--key <id>', 'instead of --subject: the caller with this key', typedKeyId)
    .option(
      '--decision-id <id>',
      'instead: an old decision of the audit log, by the policy of that time',
    );
  supposing(explained)
    .option('--group <group>', 'a group of a token; excludes keys; may be repeated', collect, [])
    .option('--role <role>', 'a role of a key that need not exist; may be repeated', collect, [])
    .action(async (flags: ExplainFlags, command: Command) => {
      if (flags.decisionId !== undefined) await explainOld(flags.decisionId, flags, command, run);
      else await explainNow(flags, command, run);
    });
}

async function explainOld(
  id: string,
  flags: ExplainFlags,
  command: Command,
  run: Run,
): Promise<void> {
  const zone = zoneOf(flags.tz);
  const explained = await decisionOf(configOf(command), id, run);
  run.code = explained.decision === 'allow' ? 0 : 1;
  run.output.line(flags.json === true ? JSON.stringify(explained) : decisionText(explained, zone));
}

async function explainNow(flags: ExplainFlags, command: Command, run: Run): Promise<void> {
  const config = configOf(command);
  const [action, object] = questionOf(flags);
  const loaded = await loadPolicyLines(resolve(config.policies));
  const keys = await knownKeys(config);
  const answers = credentialsOf(flags, keys, loaded, config).map((asking) =>
    answerOf(loaded, asking, action, object, flags),
  );
  const best = answers.find(({ verdict }) => verdict.allowed) ?? answers[0]!;
  run.code = best.verdict.allowed ? 0 : 1;
  const unseen = isDescribed(flags) ? undefined : keys.unseen;
  if (unseen !== undefined) run.output.note(`note: ${unseen}`);
  const { verdict, nearest, restrictions } = best;
  const keysNotSeen = { keys_not_seen: unseen ?? null };
  const json = { verdict, nearest, restrictions, credentials: answers, ...keysNotSeen };
  run.output.line(flags.json === true ? JSON.stringify(json) : summaryOf(best, answers));
}

function questionOf({ subject, key, action, object }: ExplainFlags): [Action, ObjectPath] {
  if ((subject ?? key) === undefined || action === undefined || object === undefined) {
    throw new UsageError('give --subject or --key, --action and --object, or --decision-id');
  }
  return [actionOf(action), objectOf(object)];
}

/** Whether the flags describe a credential that need not exist. */
function isDescribed({ group, role }: ExplainFlags): boolean {
  return group.length + role.length > 0;
}

/** The credentials that a request of the subject may come with: keys first. */
function credentialsOf(
  flags: ExplainFlags,
  keys: KnownKeys,
  { snapshot }: FolderPolicy,
  config: Config,
): readonly Credential[] {
  const subject = flags.subject === undefined ? undefined : principalName('user', flags.subject);
  if (flags.key !== undefined) return [withKey(namedKey(flags, flags.key, subject, keys))];
  if (subject === undefined) throw new UsageError('give --subject or --key');
  if (isDescribed(flags)) return [describedBy(flags, subject)];
  const own = activeKeys(keys.all ?? [], new Date()).filter((key) => key.subject === subject);
  const others = snapshot.issuers.length > 0 || config['listen.tls.client_ca'] !== null;
  const without = own.length === 0 || others ? [describedBy(flags, subject)] : [];
  return [...own.map(withKey), ...without];
}

function namedKey(
  flags: ExplainFlags,
  id: string,
  subject: string | undefined,
  { all, unseen }: KnownKeys,
): StoredKey {
  if (isDescribed(flags))
    throw new UsageError('--key has roles of its own: give no --role, no --group');
  if (all === undefined) throw new UsageError(unseen ?? 'the keys were not seen');
  const key = all.find((one) => one.id === id);
  if (key === undefined) throw new UsageError(noKeySentence(id));
  if (subject === undefined || subject === key.subject) return key;
  throw new UsageError(`the key ${id} is one of ${key.subject}, not of ${subject}`);
}

function withKey(key: StoredKey): Credential {
  const state = keyState(key, new Date());
  const ended = state === 'active' ? {} : { ended: endedSentence(key.id, state) };
  return { principal: principalOf(key), credential: `key ${key.id}`, ...ended };
}

function describedBy({ group, role }: ExplainFlags, subject: string): Credential {
  const principal: Principal = {
    subject,
    groups: group.map((name) => principalName('group', name)),
    roles: role.map((name) => principalName('role', name)),
    credential: { kind: 'key', id: 'explained' },
  };
  return { principal, credential: 'no stored key' };
}

function answerOf(
  loaded: FolderPolicy,
  { principal, credential, ended }: Credential,
  action: Action,
  object: ObjectPath,
  flags: Pick<ExplainFlags, 'ctx'>,
): CredentialAnswer {
  const context = [...(principal.context ?? [])].map(([key, value]) => `${key}=${value}`);
  const supposed = supposedOf(action, { ...flags, ctx: [...flags.ctx, ...context] });
  const from = credential.startsWith('key ')
    ? { roles: credential, groups: credential }
    : { roles: '--role', groups: '--group' };
  const explanation = explain(loaded, principal, action, object, supposed);
  const { verdict, nearest, restrictions } = ended === undefined ? explanation : endedBy(ended);
  const roles = roleSources(principal, loaded.roles, from);
  const { subject, scopes = null } = principal;
  return { credential, subject, roles, scopes, context, verdict, nearest, restrictions };
}

function endedBy(reason: string): Explanation {
  return { verdict: { allowed: false, rule: null, reason }, nearest: null, restrictions: [] };
}

function summaryOf(best: CredentialAnswer, answers: readonly CredentialAnswer[]): string {
  const { verdict, nearest, restrictions } = best;
  return [
    `${word(verdict)}: ${verdict.reason}${placeOf(verdict)}`,
    ...(nearest === null ? [] : [`nearest: ${nearest.rule}: ${nearest.text}`]),
    ...restrictions.map((one) => `bound by ${restrictionText(one)}`),
    ...answers.flatMap((answer) => credentialLines(answer, best)),
  ].join('\n');
}

/** Undefined for a subject that has neither keys nor roles. */
function credentialLines(answer: CredentialAnswer, best: CredentialAnswer): readonly string[] {
  const { credential, subject, roles, scopes, context, verdict, restrictions } = answer;
  const rules = restrictions.map(({ rule }) => rule);
  const isAsBest = rules.join() === best.restrictions.map(({ rule }) => rule).join();
  const isPlain = roles.length === 0 && scopes === null && !credential.startsWith('key ');
  if (isPlain) return [];
  const scoped = (scopes ?? []).map(({ action, pattern }) => `${action}:${pattern}`);
  return [
    `with ${credential} of ${subject}: ${word(verdict)}${placeOf(verdict)}`,
    ...roles.map(({ name, from }) => `  ${name} from ${from.join(', ')}`),
    ...(scopes === null ? [] : [`  within the scopes ${scoped.join(', ')}`]),
    ...(context.length === 0 ? [] : [`  with the context ${context.join(', ')}`]),
    ...(isAsBest ? [] : [`  bound by ${rules.length === 0 ? 'no restriction' : rules.join(', ')}`]),
  ];
}

function word({ allowed }: Explanation['verdict']): string {
  return allowed ? 'allow' : 'deny';
}

function placeOf({ rule }: Explanation['verdict']): string {
  return rule === null ? '' : ` (${rule})`;
}

/** An old decision, from the log and the stored policy. @throws UsageError when the log does not have it */
async function decisionOf(config: Config, id: string, run: Run): Promise<RecordedExplanation> {
  const folder = await openedForReading(config);
  await bringArchive(config, folder, {}, run);
  const { audit } = folder;
  const policies = new PoliciesBefore(audit);
  const request = await find(audit, id);
  if (request === undefined)
    throw new UsageError(
      `the audit log has no decision ${id}: \`arrowgate audit search --json\` prints decision ids`,
    );
  return explainRecorded(request, (digest) => policies.of(digest));
}

async function find(audit: string, id: string): Promise<DecidedRequest | undefined> {
  for await (const requests of readRequests(audit)) {
    const found = requests.find(({ decisionId }) => decisionId === id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Prints a decision line by line. */
function decisionText(explained: RecordedExplanation, zone: Zone): string {
  const { time, subject, operation, object, decision, rule, line, policy_digest } = explained;
  const by = rule === null ? '' : ` (${rule})`;
  return [
    `${zone.shown(time)}: ${decision}${by}: ${subject ?? 'nobody known'} asked for ${operation ?? 'no operation'} on ${object ?? 'no object'}`,
    ...(line === null ? [] : [`${rule}: ${line}`]),
    `under the policy ${policy_digest ?? 'that is not known'}`,
    ...(explained.why === null ? [] : [explained.why]),
    ...(explained.nearest === null
      ? []
      : [`nearest: ${explained.nearest.rule}: ${explained.nearest.text}`]),
  ].join('\n');
}
