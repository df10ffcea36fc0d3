import { encodeSegment } from '../protocol/identifier.ts';
import type { Scope } from '../protocol/principal.ts';
import { scopeFault } from '../policy/scopes.ts';
import { parseDuration } from '../protocol/units.ts';
import { UsageError } from './usage-error.ts';

/**
 * The name that a policy line matches, from what was typed: `alice` and
 * `user:alice` are the same.
 * @throws UsageError for a name of another kind, or one that is not canonical.
 */
export function principalName(kind: 'user' | 'group' | 'role', typed: string): string {
  const [, prefix, rest] = /^(user|group|role):(.*)$/s.exec(typed) ?? [];
  if (prefix === undefined) return `${kind}:${encodedName(typed)}`;
  if (prefix !== kind) throw new UsageError(`${typed} is a ${prefix}, but a ${kind} is needed`);
  const spelling = encodedName(decoded(rest ?? ''));
  if (spelling === rest) return typed;
  throw new UsageError(`${typed} is not in its canonical spelling: write ${kind}:${spelling}`);
}

function encodedName(name: string): string {
  if (name === '') throw new UsageError('a name is empty');
  return encodeSegment(name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A scope as it is typed, `ACTION:PATTERN`. @throws UsageError */
export function scopeOf(typed: string): Scope {
  const at = typed.indexOf(':');
  if (at < 0) throw new UsageError(`the scope ${typed} is not written ACTION:PATTERN`);
  const scope = { action: typed.slice(0, at), pattern: typed.slice(at + 1) };
  const fault = scopeFault(scope);
  if (fault !== undefined) throw new UsageError(fault);
  return scope;
}

/** Longer than anything lasts, and no moment that far away is beyond what a date can say. */
const LONGEST_DAYS = 365_250;

/** Milliseconds of a duration that a flag gives. @throws UsageError */
export function durationOf(flag: string, typed: string): number {
  const millis = parseDuration(typed);
  const must = millis === undefined ? 'a duration such as 24h or 90d' : `at most ${LONGEST_DAYS}d`;
  if (millis !== undefined && millis <= LONGEST_DAYS * 86_400_000) return millis;
  throw new UsageError(`${flag} is "${typed}", but must be ${must}`);
}
