import { blockHolds, parseAddress, type AddressBlock } from './address.ts';
import type { Circumstances } from './circumstances.ts';
import { wallTime, type Weekday } from '../../rules/zone-clock.ts';

/** `ip in 10.0.0.0/8, …` */
export interface AddressTerm {
  readonly kind: 'ip';
  readonly text: string;
  readonly blocks: readonly AddressBlock[];
}

/** `time in 08:00..18:00 UTC`: from the first minute on, up to the second, which may be past midnight. */
export interface TimeTerm {
  readonly kind: 'time';
  readonly text: string;
  /** Minutes since midnight. */
  readonly from: number;
  readonly to: number;
  readonly zone: string;
}

/** `day in mon..fri` */
export interface DayTerm {
  readonly kind: 'day';
  readonly text: string;
  readonly days: ReadonlySet<Weekday>;
  readonly zone: string;
}

/** `ctx.team == a`, `branch in (dev, test)`; `!=` where `among` is false. */
export interface ValueTerm {
  readonly kind: 'value';
  readonly text: string;
  /** Null for the branch, else the key in the context. */
  readonly key: string | null;
  readonly values: ReadonlySet<string>;
  readonly among: boolean;
}

export type Term = AddressTerm | TimeTerm | DayTerm | ValueTerm;

/** What becomes of a term: true or false, or its variable is missing, or it is still open. */
export type Outcome = boolean | 'missing' | 'open';

/** What becomes of a term under these circumstances. */
export function outcomeOf(term: Term, circumstances: Circumstances): Outcome {
  if (term.kind === 'ip') return addressOutcome(term, circumstances.ip);
  if (term.kind === 'value') return valueOutcome(term, circumstances);
  const { time } = circumstances;
  if (time === undefined) return 'missing';
  const { day, minute } = wallTime(term.zone, time);
  return term.kind === 'time' ? isWithin(term, minute) : term.days.has(day);
}

function addressOutcome({ blocks }: AddressTerm, ip: string | undefined): Outcome {
  const address = ip === undefined ? undefined : parseAddress(ip);
  if (address === undefined) return 'missing';
  return blocks.some((block) => blockHolds(block, address));
}

/** Whether the window has the minute of the day. */
export function isWithin({ from, to }: TimeTerm, minute: number): boolean {
  return from < to ? from <= minute && minute < to : from <= minute || minute < to;
}

function valueOutcome(
  { key, values, among }: ValueTerm,
  { context, openContext, branch }: Circumstances,
): Outcome {
  if (key !== null && openContext?.has(key) === true) return 'open';
  const value = key === null ? branch : context.get(key);
  if (value === null) return 'open';
  return value === undefined ? 'missing' : values.has(value) === among;
}

/** The variable that a term is about, as it is written. */
export function variableOf(term: Term): string {
  if (term.kind !== 'value') return term.kind;
  return term.key === null ? 'branch' : `ctx.${term.key}`;
}

/** The value that the variable of a term has, for a reader; undefined if it is missing. */
export function shownValue(
  term: Term,
  { ip, time, context, branch }: Circumstances,
): string | undefined {
  if (term.kind === 'ip') return ip;
  if (term.kind === 'value') {
    return (term.key === null ? branch : context.get(term.key)) ?? undefined;
  }
  if (time === undefined) return undefined;
  const { day, minute } = wallTime(term.zone, time);
  const [hours, minutes] = [Math.floor(minute / 60), minute % 60];
  return `${day} ${[hours, minutes].map((n) => String(n).padStart(2, '0')).join(':')} ${term.zone}`;
}
