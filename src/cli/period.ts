import type { Command } from 'commander';
import type { Period } from '../audit/request-reader.ts';
import { timeOf } from '../audit/time.ts';
import { parseMoment } from '../policy/supposed.ts';
import { parseDuration } from '../protocol/units.ts';
import { UsageError } from './usage-error.ts';

/** What the flags say of a period. */
export interface PeriodFlags {
  readonly since?: string;
  readonly until?: string;
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const HOW = 'a moment such as 2026-01-31T18:30:00Z or 2026-01-31, or an age such as 7d';

/** Adds the flags of a period. */
export function withPeriod(command: Command): Command {
  return command
    .option('--since <moment>', `only what came then or later: ${HOW}`)
    .option('--until <moment>', 'only what came before');
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
