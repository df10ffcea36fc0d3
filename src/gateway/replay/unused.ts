import { readRequests, type Period } from '../../audit/decided/reader.ts';
import { linesOfText } from '../../policy/lines/line-text.ts';
import { ruleName } from '../../policy/lines/policy-line.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import { restrictionRule } from '../../policy/settings/restriction-book.ts';
import { keyState, type StoredKey } from '../identity/keys.ts';
import { PoliciesBefore } from './policy-before.ts';
import { Usage } from './usage.ts';

/** A restriction that bound nobody, or a column of one that nobody read whom it bound. */
interface UnusedRestriction {
  /** `file:line`. */
  readonly rule: string;
  readonly name: string;
  /** Null for the whole restriction. */
  readonly column: string | null;
}

interface UnusedLine {
  /** `file:line`. */
  readonly rule: string;
  readonly text: string;
}

/** What no request of a period used. */
export interface Unused {
  readonly requests: number;
  readonly lines: readonly UnusedLine[];
  readonly keys: readonly { readonly id: string; readonly subject: string }[];
  readonly roles: readonly string[];
  readonly restrictions: readonly UnusedRestriction[];
  /** Digests of policies that decided, and whose text is not archived. */
  readonly unknown: readonly string[];
}

interface UnusedOptions {
  readonly policy: LoadedPolicy;
  readonly keys: readonly Omit<StoredKey, 'hash'>[];
  readonly period: Period;
  /** Called with the number of requests that were looked at. */
  readonly progress: (requests: number) => void;
}

/**
 * The lines, active keys, roles and restrictions that no request of a period used.
 * @param audit `<data>/private/audit`.
 */
export async function unusedOf(
  audit: string,
  { policy, keys, period, progress }: UnusedOptions,
): Promise<Unused> {
  const policies = new PoliciesBefore(audit);
  const usage = new Usage({ policy, before: (digest) => policies.of(digest) });
  for await (const requests of readRequests(audit, period)) {
    await usage.add(requests);
    progress(usage.requests);
  }
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
function rolesOf(
  { policies, roles }: LoadedPolicy,
  keys: UnusedOptions['keys'],
): readonly string[] {
  const names = [
    ...policies.map(({ subject }) => subject),
    ...roles.flatMap(({ member, role }) => [member, role]),
    ...keys.flatMap((key) => key.roles),
  ];
  return [...new Set(names)].filter((name) => name.startsWith('role:')).sort();
}
