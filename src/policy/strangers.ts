import { encodeSegment } from '../protocol/identifier.ts';
import { COMMITS_FILE } from '../rules/commit-rule.ts';
import { RESTRICTIONS_FILE } from './settings/restrictions.ts';
import { LIMITS_FILE } from './settings/limit.ts';
import type { FolderPolicy } from './load.ts';
import { nearestName } from './nearest.ts';
import type { PolicyFinding } from './lines/policy-error.ts';
import { POLICY_FILE } from './lines/policy-line.ts';
import { EVERYONE } from './lines/pattern.ts';

/** Principals that may come besides those that the policy names. */
export interface Callers {
  /** The usable keys; undefined if unknown. */
  readonly keys:
    | readonly { readonly subject: string; readonly roles: readonly string[] }[]
    | undefined;
  /** Whether certificates of clients name subjects. */
  readonly certificates: boolean;
}

/** A place of a policy that names a principal. */
interface Mention {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The kind of place, for messages. */
  readonly what: string;
  /** Whether the name must be used by a line, too. */
  readonly outside: boolean;
}

/**
 * Names in lines, limits and rules that no principal can have: no line, key, membership or case names
 * them, and no issuer could. A name is reported once for each kind of place.
 */
export function strangerFindings(policy: FolderPolicy, callers: Callers): readonly PolicyFinding[] {
  if (policy.snapshot.slow) return [];
  const held = heldNames(policy, callers);
  const lines = new Set(policy.policies.map(({ subject }) => subject));
  const reported = new Set<string>();
  return mentionsIn(policy).flatMap((mention) => {
    const { name, outside, what, file, line } = mention;
    if (reported.has(`${what} ${name}`)) return [];
    reported.add(`${what} ${name}`);
    if (
      held.has(name) ||
      (outside && lines.has(name)) ||
      mayAuthenticate(mention, policy, callers)
    ) {
      return [];
    }
    const near = nearestName(name, alike(name, outside ? [...held, ...lines] : held));
    const hint = near === undefined ? '' : `: did you mean ${near}?`;
    return [{ file, line, text: `${what} ${name}, which ${whyNobody(name)}${hint}` }];
  });
}

function mentionsIn({ policies, roles, snapshot }: FolderPolicy): readonly Mention[] {
  const file = POLICY_FILE;
  return [
    ...policies.map(({ subject: name, line }) => ({
      name,
      file,
      line,
      outside: false,
      what: 'it is about',
    })),
    ...roles.map(({ member: name, line }) => ({
      name,
      file,
      line,
      outside: false,
      what: 'it gives a role to',
    })),
    ...snapshot.limits.limits.flatMap(({ name: limit, subjects, line }) =>
      [...(subjects ?? [])].map((name) => ({
        name,
        file: LIMITS_FILE,
        line,
        outside: true,
        what: `the limit ${limit} is about`,
      })),
    ),
    ...snapshot.commits.rules.flatMap(({ name: rule, except, line }) =>
      except.map((name) => ({
        name,
        file: COMMITS_FILE,
        line,
        outside: true,
        what: `the rule ${rule} excepts`,
      })),
    ),
    ...snapshot.restrictions.restrictions.flatMap(({ name: one, subjects, except, line }) => {
      const mention = { file: RESTRICTIONS_FILE, line, outside: true };
      return [
        ...(subjects ?? []).map((name) => ({
          ...mention,
          name,
          what: `the restriction ${one} is about`,
        })),
        ...except.map((name) => ({ ...mention, name, what: `the restriction ${one} excepts` })),
      ];
    }),
  ];
}

/** Everybody who certainly is somebody: by a key, a membership or a case, and the administrator. */
function heldNames({ roles, cases }: FolderPolicy, { keys = [] }: Callers): ReadonlySet<string> {
  return new Set([
    EVERYONE,
    'user:admin',
    'role:admin',
    ...roles.map(({ role }) => role),
    ...keys.flatMap((key) => [key.subject, ...key.roles]),
    ...cases.flatMap((one) => [one.subject, ...one.groups, ...one.roles]),
  ]);
}

/** Whether a principal of this name may exist although nothing here names it: with a key or a token. */
function mayAuthenticate(
  { name, outside }: Mention,
  { snapshot }: FolderPolicy,
  { keys, certificates }: Callers,
): boolean {
  if (name.startsWith('role:')) return keys === undefined && !outside;
  const isUser = name.startsWith('user:');
  if (isUser && (keys === undefined || certificates)) return true;
  const own = name.slice(name.indexOf(':') + 1);
  return snapshot.issuers.some(({ subjectPrefix, groupPrefix }) =>
    own.startsWith(encodeSegment(isUser ? subjectPrefix : groupPrefix)),
  );
}

function alike(name: string, names: Iterable<string>): readonly string[] {
  const kind = name.slice(0, name.indexOf(':') + 1);
  return [...names].filter((one) => one.startsWith(kind));
}

function whyNobody(name: string): string {
  if (name.startsWith('role:')) return 'nobody has: no g line gives it and no key holds it';
  if (name.startsWith('group:')) return 'nobody is in: no g line and no issuer gives it';
  return 'nobody is: no key has this subject and no issuer gives it';
}

/** Every name that the lines know, for those who ask whether one is a mistake. */
export function namesInLines({
  policies,
  roles,
}: Pick<FolderPolicy, 'policies' | 'roles'>): ReadonlySet<string> {
  return new Set([
    ...policies.map(({ subject }) => subject),
    ...roles.flatMap(({ member, role }) => [member, role]),
  ]);
}
