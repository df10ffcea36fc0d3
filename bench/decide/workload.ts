import type { OperationName } from '../../src/protocol/operations/operation-name.ts';
import type { Principal } from '../../src/protocol/principal.ts';

/** Policy lines of each user, whatever the size of the policy. */
const LINES_EACH = 10;
const USERS_ASKING = 10;

/** One question to the policy, in the words of both sides. */
export interface Asked {
  readonly principal: Principal;
  readonly action: OperationName;
  readonly path: readonly string[];
  /** The same as casbin is told it. */
  readonly object: string;
  readonly expected: boolean;
}

/** A policy of so many lines: each user reads eight tables and their parts, may add to one, and is kept from one. */
export function policyText(lines: number): string {
  const users = Array.from({ length: lines / LINES_EACH }, (_, user) => user);
  return users.map(linesOf).join('');
}

/** Questions of ten users who are spread over the policy: a third each allowed, denied by a line, and not mentioned. */
export function askedOf(lines: number, count: number): readonly Asked[] {
  const users = lines / LINES_EACH;
  const principals = Array.from({ length: USERS_ASKING }, (_, index) =>
    principalOf(Math.floor((index * users) / USERS_ASKING)),
  );
  return Array.from({ length: count }, (_, index) => {
    const { user, principal } = principals[index % USERS_ASKING]!;
    return kinds[Math.floor(index / USERS_ASKING) % kinds.length]!(user, principal, index);
  });
}

/** Roles of the one user whose lines are the whole policy. */
const ROLES = 10;

/**
 * A policy of so many lines that all apply to one user, through ten roles: nine of ten lines
 * allow a table of their own, each tenth denies a part of the table before it.
 */
export function ownPolicyText(lines: number): string {
  const memberships = Array.from({ length: ROLES }, (_, role) => `g, user:u0, role:r${role}\n`);
  const own = Array.from({ length: lines }, (_, line) => {
    const role = `role:r${line % ROLES}`;
    if (line % ROLES !== ROLES - 1) return `p, ${role}, ${ownTable(line)}/**, read, allow\n`;
    return `p, ${role}, ${ownTable(line - 1)}/hr/**, *, deny\n`;
  });
  return [...memberships, ...own].join('');
}

/**
 * Questions of that user about ten tables that are spread over the policy, as many whatever its
 * size: a third each allowed, denied by a line, and not mentioned.
 */
export function ownAskedOf(lines: number, count: number): readonly Asked[] {
  const { principal } = principalOf(0);
  return Array.from({ length: count }, (_, index) => {
    const block = ROLES * Math.floor(((index % ROLES) * (lines / ROLES)) / ROLES);
    const table = ownTable(block + ROLES - 2)
      .slice(1)
      .split('/');
    const kind = Math.floor(index / ROLES) % 3;
    if (kind === 0) return question(principal, [...table, 'part'], true);
    if (kind === 1) return question(principal, [...table, 'hr', 'pay'], false);
    return question(principal, [...table.slice(0, -1), 'none'], false);
  });
}

function ownTable(line: number): string {
  return `/lake/n${Math.floor(line / 100)}/t${line}`;
}

type Kind = (user: number, principal: Principal, index: number) => Asked;

const kinds: readonly Kind[] = [
  (user, principal, index) =>
    question(principal, ['lake', `u${user}`, `t${index % 8}`, 'part'], true),
  (user, principal) => question(principal, ['lake', `u${user}`, 'hr', 'pay'], false),
  (user, principal, index) => question(principal, ['lake', `u${user}`, `x${index % 8}`], false),
];

function question(principal: Principal, path: readonly string[], expected: boolean): Asked {
  return { principal, action: 'QueryTable', path, object: `/${path.join('/')}`, expected };
}

function principalOf(user: number) {
  const credential = { kind: 'key', id: `key${user}` } as const;
  const principal: Principal = { subject: `user:u${user}`, groups: [], roles: [], credential };
  return { user, principal };
}

function linesOf(user: number): string {
  const tables = Array.from(
    { length: LINES_EACH - 2 },
    (_, table) => `p, user:u${user}, /lake/u${user}/t${table}/**, read, allow\n`,
  );
  const add = `p, user:u${user}, /lake/u${user}/inbox, append, allow\n`;
  return `${tables.join('')}${add}p, user:u${user}, /lake/u${user}/hr/**, *, deny\n`;
}
