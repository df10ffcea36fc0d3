import { Networks } from '../../gateway/http/networks.ts';
import { parseRedisAddress } from '../../store/redis/address.ts';
import { parseKeepFor } from '../../engine/versions/version-policy.ts';
import { parseDuration, parseSize } from '../../protocol/units.ts';

interface Wrong {
  readonly kind: 'wrong';
  readonly must: string;
  /** Path and found value of a fault inside the value; if absent, the fault is the value itself. */
  readonly at?: readonly (string | number)[];
  readonly found?: unknown;
  /** Whether the found value is secret and must not be repeated. */
  readonly hidden?: boolean;
}

/** The result of reading a value: the value, or the expected form. */
export type SettingReading<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | Wrong
  /** Path of an unknown key inside the value. */
  | { readonly kind: 'unknown'; readonly at: readonly (string | number)[] };

/** How the text of a flag or variable gives a value. Examples are shown where a text is refused. */
type TextForm =
  /** The text is the value. */
  | { readonly kind: 'plain' }
  /** Texts with commas between them; YAML if it begins as a list of YAML does. */
  | { readonly kind: 'commas'; readonly example: string }
  /** YAML in one line. */
  | { readonly kind: 'yaml'; readonly example: string };

/** Parsers of a kind of value, from YAML or from the text of a flag or variable. */
export interface SettingKind<Value> {
  /** Name of the kind in the documentation. */
  readonly name: string;
  readonly text: TextForm;
  read(value: unknown): SettingReading<Value>;
}

/** A value that was read. */
export function good<Value>(value: Value): SettingReading<Value> {
  return { kind: 'value', value };
}

function kind<Value>(
  name: string,
  must: string,
  parse: (value: unknown) => Value | undefined,
): SettingKind<Value> {
  const read = (value: unknown): SettingReading<Value> => {
    const parsed = parse(value);
    return parsed === undefined ? { kind: 'wrong', must } : good(parsed);
  };
  return { name, text: { kind: 'plain' }, read };
}

/** Some text, not empty. */
export const textSetting: SettingKind<string> = kind('text', 'a text that is not empty', (value) =>
  typeof value === 'string' && value !== '' ? value : undefined,
);

/** The address of a Redis. */
export const redisUrl: SettingKind<string> = {
  name: 'URL',
  text: { kind: 'plain' },
  read: (value) => {
    try {
      parseRedisAddress(String(value));
      return good(String(value));
    } catch {
      // Why is not repeated: the text may hold a password.
      return { kind: 'wrong', must: 'redis[s][+sentinel|+cluster]://[user:password@]host[:port]' };
    }
  },
};

/** The name of a catalog among those that share a Redis. */
export const catalogName: SettingKind<string> = kind(
  'text',
  '1 to 64 letters, digits, dots, dashes and underscores',
  (value) => (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined),
);

/** Bytes: `64MiB`, or a whole number of them. */
export const size: SettingKind<number> = kind('size', 'a size such as 64MiB', (value) =>
  typeof value === 'string' || typeof value === 'number' ? parseSize(String(value)) : undefined,
);

/** Bytes between two bounds; each is given with how it is written. */
export function sizeBetween(
  [least, leastText]: readonly [number, string],
  [most, mostText]: readonly [number, string],
): SettingKind<number> {
  return kind('size', `a size from ${leastText} to ${mostText}`, (value) => {
    const reading = size.read(value);
    if (reading.kind !== 'value') return undefined;
    return reading.value >= least && reading.value <= most ? reading.value : undefined;
  });
}

/** The address of a collector or another HTTP service. */
export const httpUrl: SettingKind<string> = kind(
  'URL',
  'an address that begins with http:// or https://',
  (value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
    const { protocol, hash, username, password } = new URL(value);
    const plain = hash === '' && username === '' && password === '';
    return plain && /^https?:$/.test(protocol) ? value : undefined;
  },
);

/** Milliseconds of a duration that is not zero: `300s`, `15m`, `24h`, `400d`. */
export const duration: SettingKind<number> = kind(
  'duration',
  'a duration such as 300s, 15m or 24h',
  (value) => {
    const millis = typeof value === 'string' ? parseDuration(value) : undefined;
    return millis === 0 ? undefined : millis;
  },
);

/** Milliseconds of an age, which may be zero. */
export const age: SettingKind<number> = kind('duration', 'a duration such as 7d', (value) =>
  typeof value === 'string' ? (parseKeepFor(value) ?? undefined) : undefined,
);

/** Timers of the system count no further than about 24 days and 20 hours: a longer one would end at once. */
const LONGEST_TIMER = 24 * 86_400_000;

/** A duration after which something is given up. */
export const timeout: SettingKind<number> = {
  ...duration,
  read: (value) => {
    const reading = duration.read(value);
    if (reading.kind !== 'value' || reading.value <= LONGEST_TIMER) return reading;
    return { kind: 'wrong', must: 'a duration of at most 24d' };
  },
};

/** A wait, which may be zero. */
export const pause: SettingKind<number> = kind(
  'duration',
  'a duration of at most 24d, such as 30s',
  (value) => {
    const millis = typeof value === 'string' ? parseDuration(value) : undefined;
    return millis !== undefined && millis <= LONGEST_TIMER ? millis : undefined;
  },
);

/** A whole number between two bounds. */
export function whole(least: number, most: number): SettingKind<number> {
  const must = `a whole number from ${least} to ${most}`;
  return kind('number', must, (value) => {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    const fits = typeof number === 'number' && Number.isInteger(number);
    return fits && number >= least && number <= most ? number : undefined;
  });
}

/** Yes or no. */
export const yesOrNo: SettingKind<boolean> = kind('true | false', 'true or false', (value) =>
  typeof value === 'boolean' ? value : yesOrNoTexts.get(value),
);

/** Texts of flags and variables. */
const yesOrNoTexts: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

export function choice<Word extends string>(...words: readonly Word[]): SettingKind<Word> {
  return kind(words.join(' | '), `one of ${words.join(', ')}`, (value) =>
    words.find((word) => word === value),
  );
}

/** Texts in a list. */
export const texts: SettingKind<readonly string[]> = {
  ...kind('list', 'a list of texts', (value) =>
    Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined,
  ),
  text: { kind: 'commas', example: 'ONE,TWO' },
};

/** Networks of addresses. */
export const networks: SettingKind<readonly string[]> = {
  ...kind('list', 'a list of networks such as 10.0.0.0/8', (value) => {
    const reading = texts.read(value);
    return reading.kind === 'value' && areNetworks(reading.value) ? reading.value : undefined;
  }),
  text: { kind: 'commas', example: '10.0.0.0/8,192.168.0.0/16' },
};

function areNetworks(list: readonly string[]): boolean {
  try {
    for (const network of list) void new Networks([network]);
    return true;
  } catch {
    return false;
  }
}

/** A value of the kind, or null for none. */
export function orNull<Value>(inner: SettingKind<Value>): SettingKind<Value | null> {
  const read = (value: unknown): SettingReading<Value | null> =>
    value === null || value === 'null' ? good(null) : inner.read(value);
  return { ...inner, name: `${inner.name} or null`, read };
}

/** A number, or `auto` for the one that suits the machine. */
export function numberOrAuto(number: SettingKind<number>): SettingKind<number | 'auto'> {
  const read = (value: unknown): SettingReading<number | 'auto'> => {
    if (value === 'auto') return good('auto');
    const reading = number.read(value);
    return reading.kind === 'wrong' ? { ...reading, must: `auto or ${reading.must}` } : reading;
  };
  return { ...number, name: `${number.name} | auto`, read };
}
