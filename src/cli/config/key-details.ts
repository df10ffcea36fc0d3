import { MOMENTS } from '../../protocol/moment.ts';
import { CONTEXT_KEY } from '../../gateway/identity/key-document.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import { typedScope } from '../../policy/lines/scopes.ts';
import { typedName } from '../../policy/lines/typed-name.ts';
import { LONGEST_MILLIS, parseDuration } from '../../protocol/units.ts';
import { UsageError } from '../output/service-error.ts';
import type { Command } from 'commander';
import type { Period } from '../../audit/decided/reader.ts';
import { timeOf } from '../../audit/record/time.ts';
import { momentOf } from '../output/moment.ts';
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

/** The name that a policy line matches, from what was typed. @throws UsageError */
export function principalName(kind: 'user' | 'group' | 'role', typed: string): string {
  const name = typedName(kind, typed);
  if ('fault' in name) throw new UsageError(name.fault);
  return name.value;
}

/** A scope as it is typed, `ACTION:PATTERN`. @throws UsageError */
export function scopeOf(typed: string): KeyScope {
  const scope = typedScope(typed);
  if ('fault' in scope) throw new UsageError(scope.fault);
  return scope.value;
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

/** Milliseconds of a duration that a flag gives. @throws UsageError */
export function durationOf(flag: string, typed: string): number {
  const millis = parseDuration(typed);
  const must =
    millis === undefined
      ? 'a duration such as 24h or 90d'
      : `at most ${LONGEST_MILLIS / 86_400_000}d`;
  if (millis !== undefined && millis <= LONGEST_MILLIS) return millis;
  throw new UsageError(`${flag} is "${typed}", but must be ${must}`);
}

/** The id of a key that is named by its id or by its whole text, whose secret must not reach the audit log. */
export function typedKeyId(text: string): string {
  return /^agk_([^_]*)/.exec(text)?.[1] ?? text;
}
