import { good, type SettingKind, type SettingReading } from './config-kinds.ts';

/** Keys and indices that lead to a value inside of a setting. */
export type SettingPlace = readonly (string | number)[];

/** The keys and values of an entry of a list. */
export type Members = Readonly<Record<string, unknown>>;

/** An invalid value inside of a setting; `listKind` turns it into the result of the reading. */
export class Fault extends Error {
  readonly reading: Exclude<SettingReading<never>, { kind: 'value' }>;

  constructor(reading: Exclude<SettingReading<never>, { kind: 'value' }>) {
    super(reading.kind);
    this.reading = reading;
  }
}

/**
 * The kind of a list.
 * @param example A list as YAML in one line.
 * @param read Reads the value, and throws a `Fault` for an invalid one.
 */
export function listKind<Entry>(
  example: string,
  read: (value: unknown) => readonly Entry[],
): SettingKind<readonly Entry[]> {
  return {
    name: 'list of maps',
    text: { kind: 'yaml', example },
    read: (value) => {
      try {
        return good(read(value));
      } catch (error) {
        if (error instanceof Fault) return error.reading;
        throw error;
      }
    },
  };
}

/** The fault of a value that must be something else. @param must The expected form. */
export function wrong(at: SettingPlace, found: unknown, must: string): Fault {
  return new Fault({ kind: 'wrong', must, at, found });
}

/** Reads a value by its kind. @throws Fault */
export function readAs<Value>(kind: SettingKind<Value>, value: unknown, at: SettingPlace): Value {
  const reading = kind.read(value);
  if (reading.kind === 'value') return reading.value;
  throw wrong(at, value, reading.kind === 'wrong' ? reading.must : 'something else');
}

/** Keys and values. @throws Fault for anything else */
export function membersOf(value: unknown, at: SettingPlace): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value));
  }
  throw wrong(at, value, 'keys and values');
}

/** @throws Fault for the first key that is not allowed */
export function onlyKnown(members: Members, at: SettingPlace, allowed: readonly string[]): void {
  const other = Object.keys(members).find((key) => !allowed.includes(key));
  if (other !== undefined) throw new Fault({ kind: 'unknown', at: [...at, other] });
}

/** @throws Fault for anything but true and false */
export function readTruth(value: unknown, at: SettingPlace): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong(at, value, 'true or false');
}

/** The name of an entry of a list. @throws Fault */
export function readName(members: Members, at: number): string {
  const { name } = members;
  if (typeof name === 'string' && /^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return name;
  throw wrong([at, 'name'], name, '1 to 64 letters, digits, dots, dashes and underscores');
}

/** The name of a variable with a credential; null for none. @throws Fault */
export function readVariable(value: unknown, place: SettingPlace): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && /^[A-Za-z_]\w*$/.test(value)) return value;
  // Someone may have put the credential itself here.
  const must = 'the name of an environment variable';
  throw new Fault({ kind: 'wrong', must, at: place, hidden: true });
}
