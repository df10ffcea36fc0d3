import { CONTEXT_KEY } from '../../gateway/identity/key-document.ts';
import { encodeSegment } from '../../protocol/identifier.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import { scopeFault } from '../../policy/lines/scopes.ts';
import { parseDuration } from '../../protocol/units.ts';
import { UsageError } from '../output/service-error.ts';
import type { Command } from 'commander';
import type { Period } from '../../audit/decided/reader.ts';
import { timeOf } from '../../audit/record/time.ts';
import { momentOf, MOMENTS } from '../output/moment.ts';
import { TZ_ABOUT, zoneOf } from '../output/zone.ts';

/** Parses a period flag. */
export interface PeriodFlags {
  readonly since?: string;
  readonly until?: string;
  readonly tz?: string;
}

/** Adds the flags of a period. */
export function withPeriod(command: Command): Command {
  return command
    .option('--since <time>', `requests at or after this time: ${MOMENTS}`)
    .option('--until <time>', 'requests before this time')
    .option('--tz <zone>', TZ_ABOUT);
}

/** The period that the flags give. @throws UsageError */
export function periodOf(flags: PeriodFlags, now: number = Date.now()): Period {
  const { since, until } = windowOf(flags, now);
  return {
    since: since === undefined ? undefined : timeOf(since),
    until: until === undefined ? undefined : timeOf(until),
  };
}

/** The same in microseconds since 1970; absent bounds are open. @throws UsageError for times that can mean nothing */
export function windowOf(
  { since, until, tz }: PeriodFlags,
  now: number = Date.now(),
): { readonly since?: bigint; readonly until?: bigint } {
  const zone = zoneOf(tz);
  const window = {
    ...(since === undefined ? {} : { since: momentOf('--since', since, zone, now) }),
    ...(until === undefined ? {} : { until: momentOf('--until', until, zone, now) }),
  };
  if (window.since !== undefined && window.until !== undefined && window.since >= window.until) {
    throw new UsageError(`--since ${since} is not before --until ${until}`);
  }
  return window;
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

/** The context of a key as it is typed, `KEY=VALUE` each. @throws UsageError */
export function keyContextOf(typed: readonly string[]): Readonly<Record<string, string>> {
  const context = new Map<string, string>();
  for (const text of typed) {
    const at = text.indexOf('=');
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1 || value === '')
      throw new UsageError(`the context ${text} is not written KEY=VALUE`);
    if (!CONTEXT_KEY.test(key)) {
      throw new UsageError(
        `the key ${key} of a context is not 1 to 64 lower-case letters, digits, dashes and underscores`,
      );
    }
    if (context.has(key)) throw new UsageError(`the context has two values of ${key}`);
    context.set(key, value);
  }
  return Object.fromEntries(context);
}

/** The context of a key as it is typed and printed. */
export function keyContextTexts(context: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(context).map(([key, value]) => `${key}=${value}`);
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
