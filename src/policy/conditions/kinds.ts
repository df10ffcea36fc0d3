import { MAIN_BRANCH, isAboutBranch } from '../../protocol/branch.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { parseWeekdays, wallTime, type Weekday } from '../../rules/zone-clock.ts';
import { blockHolds, haveCommonAddress, parseAddress, parseBlock } from './address.ts';
import type { AddressBlock } from './address.ts';
import { conditionKind, type ConditionKind, type KindRow, type Openness } from './kind.ts';
import { ConditionFault, type TextMembership } from './term-reader.ts';
import {
  windowHolds,
  MOMENT,
  parseMoment,
  shownTime,
  parseWindow,
  windowsMeet,
} from './time-window.ts';
import type { TimeWindow } from './time-window.ts';

/**
 * The values that conditions read: plain data, so that a decision can be repeated from its audit
 * record. An absent value is missing: it fails the condition of an allow and satisfies that of a deny.
 */
interface ConditionValues {
  /** The address that the request came from. */
  readonly ip?: string | undefined;
  /** When it came, in milliseconds since 1970. */
  readonly time?: number | undefined;
  /** The context of the request, keys in lower case. */
  readonly context: ReadonlyMap<string, string>;
  /**
   * The request's branch; absent if it has none. Null while unknown, because the body may name it: the
   * decision is repeated when the body has been read.
   */
  readonly branch?: string | null | undefined;
}

/** The plain facts of a request, as the gateway receives it or as its audit record has it. */
export interface RequestFacts {
  readonly sourceIp?: string | undefined;
  /** Microseconds since 1970. */
  readonly arrivedMicros: number;
  /** The context of its headers; absent while they are not read. */
  readonly context?: ReadonlyMap<string, string> | undefined;
  /** Keys of the context whose values the audit record hides. */
  readonly hiddenKeys?: readonly string[] | undefined;
  /** Its head; of a recorded request the user agent alone, cut after 256 characters. */
  readonly incoming?: { readonly headers: { readonly 'user-agent'?: string | undefined } };
}

/** Texts of a case or of flags, by the name of their value: `ip`, `ctx.team`. */
export type Supposed = ReadonlyMap<string, string>;

type Field = keyof ConditionValues;

/** Source of a value, and its form in cases and flags. */
export interface ValueSource<Of extends Field = Field> {
  readonly field: Of;
  /** Its key in a case and its flag of `policy explain` and `policy who`. */
  readonly name: string;
  /** Whether it has a value for each key, and what the value in a flag is called. */
  readonly keyed: boolean;
  readonly placeholder: string;
  /** Meaning of the flag, for the help. */
  readonly flagAbout: string;
  /** The value in a case, for the schema of `cases.yaml`: its meaning and, if not any text is one, a pattern. */
  readonly inCase: { readonly about: string; readonly pattern?: string };
  /** The text of the flag unless it is given. */
  readonly flagDefault?: () => string;
  /** From a request, and from its record; absent if the question itself has the value. */
  readonly live?: (facts: RequestFacts) => ConditionValues[Of];
  /** Names of values that a record hides. */
  readonly hidden?: (facts: RequestFacts) => readonly string[];
  /** Equal for values that no condition distinguishes; absent if the question itself has the value. */
  readonly alike?: (values: ConditionValues, looksAt: (name: string) => boolean) => unknown;
  /** Fault of a text, in one sentence. */
  readonly fault?: (supposed: Supposed) => string | undefined;
  /** From texts that have no fault. */
  readonly suppose: (supposed: Supposed, action: Action) => ConditionValues[Of];
}

const address: ValueSource<'ip'> = {
  field: 'ip',
  name: 'ip',
  keyed: false,
  placeholder: '<address>',
  flagAbout: 'source address of the request; default: unknown',
  inCase: { about: 'Source address of the request; missing when absent.' },
  live: ({ sourceIp }) => sourceIp,
  alike: ({ ip }, looksAt) => (looksAt('ip') ? ip : null),
  fault: (supposed) => {
    const ip = supposed.get('ip');
    if (ip === undefined || parseAddress(ip) !== undefined) return undefined;
    return `ip is ${JSON.stringify(ip)}: write an address such as 10.0.0.7`;
  },
  suppose: (supposed) => supposed.get('ip'),
};

const MINUTE_MILLIS = 60_000;

const clock: ValueSource<'time'> = {
  field: 'time',
  name: 'time',
  keyed: false,
  placeholder: '<moment>',
  flagAbout: 'time of the request, such as 2026-01-31T18:30:00Z; default: now',
  inCase: { about: 'Time of the request, RFC 3339; missing when absent.', pattern: MOMENT.source },
  flagDefault: () => new Date().toISOString(),
  live: ({ arrivedMicros }) => Math.floor(arrivedMicros / 1000),
  // Conditions tell minutes apart, no seconds.
  alike: ({ time = 0 }, looksAt) => (looksAt('time') ? Math.floor(time / MINUTE_MILLIS) : null),
  fault: (supposed) => {
    const time = supposed.get('time');
    if (time === undefined || parseMoment(time) !== undefined) return undefined;
    return `time is ${JSON.stringify(time)}: write a moment such as 2026-01-31T18:30:00Z`;
  },
  suppose: (supposed) => {
    const time = supposed.get('time');
    return time === undefined ? undefined : parseMoment(time);
  },
};

const CTX = 'ctx.';
const noContext: ReadonlyMap<string, string> = new Map();

const context: ValueSource<'context'> = {
  field: 'context',
  name: 'ctx',
  keyed: true,
  placeholder: '<key=value>',
  flagAbout: 'an entry of its context; may be repeated',
  inCase: { about: 'Context of the request; keys in lower case.' },
  live: (facts) => facts.context ?? noContext,
  hidden: ({ hiddenKeys = [] }) => hiddenKeys.map((key) => CTX + key),
  alike: (values, looksAt) => [...values.context].filter(([key]) => looksAt(CTX + key)),
  fault: (supposed) => {
    const key = supposedKeys(supposed).find((one) => one !== one.toLowerCase());
    if (key === undefined) return undefined;
    return `keys of the context are in lower case: write ${key.toLowerCase()}`;
  },
  suppose: (supposed) =>
    new Map(supposedKeys(supposed).map((key) => [key, supposed.get(CTX + key) ?? ''])),
};

function supposedKeys(supposed: Supposed): readonly string[] {
  return [...supposed.keys()].flatMap((name) =>
    name.startsWith(CTX) ? [name.slice(CTX.length)] : [],
  );
}

const branch: ValueSource<'branch'> = {
  field: 'branch',
  name: 'branch',
  keyed: false,
  placeholder: '<name>',
  flagAbout: 'branch of the request; default: main',
  inCase: { about: 'Branch of the request; main when absent.' },
  suppose: (supposed, action) => {
    const named = supposed.get('branch');
    if (named === '') return MAIN_BRANCH;
    return named ?? (isAboutBranch(action) ? MAIN_BRANCH : undefined);
  },
};

/** Sources of all values, in the order of cases and flags. */
export const valueSources: readonly ValueSource[] = [address, clock, context, branch];

/** The input of terms: the values, and the names of those that are open. */
export type JudgedValues = ConditionValues & Openness;

/** A kind among others. */
type AnyConditionKind = ConditionKind<JudgedValues, ValueSource>;

type Row<Value, Details> = KindRow<JudgedValues, Value, Details> & { readonly source: ValueSource };

const ip = conditionKind({
  variable: 'ip',
  examples: ['ip in 10.0.0.0/8, ::1'],
  about: 'the address that the request comes from',
  source: address,
  read: (reader) => {
    reader.word('in', 'an address is compared with ip in NETWORK');
    return reader.list('a network').map(blockOf);
  },
  value: (now) => (now.ip === undefined ? undefined : parseAddress(now.ip)),
  shown: (now) => now.ip,
  test: (blocks) => (found) => blocks.some((block) => blockHolds(block, found)),
  canMeet: haveCommonAddress,
} satisfies Row<NonNullable<ReturnType<typeof parseAddress>>, readonly AddressBlock[]>);

const time = conditionKind({
  variable: 'time',
  examples: ['time in 08:00..18:00 Europe/Berlin'],
  about: 'the time of day, from the first minute up to the second, which may be past midnight',
  source: clock,
  read: (reader) => {
    reader.word('in', 'a time is compared with time in 08:00..18:00 ZONE');
    const written = reader.next('a window such as 08:00..18:00 follows time in').text;
    const window = parseWindow(written);
    if ('fault' in window) throw new ConditionFault(window.fault);
    const zone = reader.zone();
    if (zone !== undefined) return { ...window, zone };
    throw new ConditionFault(`the window ${written} has no zone: write ${written} UTC`);
  },
  zone: ({ zone }) => zone,
  value: (now) => now.time,
  shown: (now, _, { zone }) => shownTime(zone, now.time),
  test: (window) => (millis) => windowHolds(window, wallTime(window.zone, millis).minute),
  group: ({ zone }) => zone,
  canMeet: windowsMeet,
} satisfies Row<number, TimeWindow & { readonly zone: string }>);

const UTC = 'UTC';

interface Days {
  readonly days: ReadonlySet<Weekday>;
  /** Absent until the zone of the condition's times is known. */
  readonly zone?: string | undefined;
}

const day = conditionKind({
  variable: 'day',
  examples: ['day in mon..fri', 'day in sat, sun UTC'],
  about: "the day of the week, in the zone of the condition's time or else UTC",
  source: clock,
  read: (reader): Days => {
    reader.word('in', 'days are compared with day in mon..fri');
    return { days: new Set(reader.list('a day').flatMap(namedDays)), zone: reader.zone() };
  },
  settle: ({ days, zone }, text, zones) => {
    if (zone === undefined && zones.size > 1) {
      throw new ConditionFault(`say in which zone: ${text} ${[...zones].join(' or ')}`);
    }
    const [first = UTC] = zones;
    return { days, zone: zone ?? first };
  },
  value: (now) => now.time,
  shown: (now, _, { zone = UTC }) => shownTime(zone, now.time),
  test:
    ({ days, zone = UTC }) =>
    (millis) =>
      days.has(wallTime(zone, millis).day),
  group: ({ zone = UTC }) => zone,
  canMeet: ([first, ...more]) =>
    first === undefined || [...first.days].some((one) => more.every(({ days }) => days.has(one))),
} satisfies Row<number, Days>);

/** A kind that compares a text with `==`, `!=` or `in`. */
function textKind(
  row: Pick<
    Row<string, TextMembership>,
    'variable' | 'examples' | 'about' | 'source' | 'key' | 'value'
  >,
): AnyConditionKind {
  return conditionKind({
    ...row,
    read: (reader, variable) => reader.membership(variable),
    shown: (now, key) => row.value(now, key) ?? undefined,
    test:
      ({ values, among }) =>
      (value) =>
        values.has(value) === among,
    canMeet: membershipsMeet,
  } satisfies Row<string, TextMembership>);
}

const ctx = textKind({
  variable: 'ctx.KEY',
  examples: ['ctx.team == a', 'ctx.team != a', 'ctx.team in (a, b)'],
  about: 'the headers `x-service-ctx-*` and `x-lance-ctx-*`, keys in lower case',
  source: context,
  key: contextKey,
  value: (now, key) => now.context.get(key),
});

const onBranch = textKind({
  variable: 'branch',
  examples: ['branch == dev', 'branch != main', 'branch in (dev, test)'],
  about: 'the branch of the query or the body; `main` where an operation on a branch names none',
  source: branch,
  value: (now) => now.branch,
});

/** Every kind of condition, as refusals list them. */
export const conditionKinds: readonly AnyConditionKind[] = [ip, time, day, onBranch, ctx];

function blockOf(text: string): AddressBlock {
  const result = parseBlock(text);
  if ('fault' in result) throw new ConditionFault(result.fault);
  return result.block;
}

function namedDays(text: string): readonly Weekday[] {
  const days = parseWeekdays(text);
  if (days !== undefined) return days;
  throw new ConditionFault(
    `${JSON.stringify(text)} is no day: write mon, tue, wed, thu, fri, sat, sun or mon..fri`,
  );
}

function contextKey(key: string): string {
  if (!/^[A-Za-z0-9!#$%&*+.^_`|~-]+$/.test(key)) {
    throw new ConditionFault(`ctx.${key} can never be there: its key is no name of a header`);
  }
  if (key === key.toLowerCase()) return key;
  throw new ConditionFault(`keys of the context are in lower case: write ctx.${key.toLowerCase()}`);
}

function membershipsMeet(terms: readonly TextMembership[]): boolean {
  const [first, ...more] = terms.filter(({ among }) => among);
  if (first === undefined) return true;
  const others = [...more, ...terms.filter(({ among }) => !among)];
  return [...first.values].some((value) =>
    others.every(({ values, among }) => values.has(value) === among),
  );
}
