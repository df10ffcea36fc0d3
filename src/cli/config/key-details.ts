import { encodeSegment } from '../../protocol/identifier.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import { scopeFault } from '../../policy/lines/scopes.ts';
import { parseDuration } from '../../protocol/units.ts';
import { UsageError } from '../output/service-error.ts';
import type { Command } from 'commander';
import type { Period } from '../../audit/decided/reader.ts';
import { timeOf } from '../../audit/record/time.ts';
import { parseMoment } from '../../policy/conditions/time-window.ts';

/** Parses a period flag. */
export interface PeriodFlags {
  readonly since?: string;
  readonly until?: string;
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const HOW = 'a moment such as 2026-01-31T18:30:00Z or 2026-01-31, or an age such as 7d';

/** Adds the flags of a period. */
export function withPeriod(command: Command): Command {
  return command
    .option('--since <moment>', `requests at or after this time: ${HOW}`)
    .option('--until <moment>', 'requests before this time');
}

/** The period that the flags give. @throws UsageError */
export function periodOf({ since, until }: PeriodFlags, now: number = Date.now()): Period {
  return { since: timeFlag('--since', since, now), until: timeFlag('--until', until, now) };
}

function timeFlag(flag: string, text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const age = parseDuration(text);
  const millis =
    age === undefined ? parseMoment(DATE.test(text) ? `${text}T00:00Z` : text) : now - age;
  if (millis !== undefined && millis >= 0) return timeOf(BigInt(millis) * 1000n);
  throw new UsageError(`${flag} is ${JSON.stringify(text)}: write ${HOW}`);
}

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
export function scopeOf(typed: string): KeyScope {
  const at = typed.indexOf(':');
  if (at < 0) throw new UsageError(`the scope ${typed} is not written ACTION:PATTERN`);
  const scope = { action: typed.slice(0, at), pattern: typed.slice(at + 1) };
  const fault = scopeFault(scope);
  if (fault !== undefined) throw new UsageError(fault);
  return scope;
}

/** Longest accepted period, in days: dates that far away are still valid. */
const LONGEST_DAYS = 365_250;

/** Milliseconds of a duration that a flag gives. @throws UsageError */
export function durationOf(flag: string, typed: string): number {
  const millis = parseDuration(typed);
  const must = millis === undefined ? 'a duration such as 24h or 90d' : `at most ${LONGEST_DAYS}d`;
  if (millis !== undefined && millis <= LONGEST_DAYS * 86_400_000) return millis;
  throw new UsageError(`${flag} is "${typed}", but must be ${must}`);
}
