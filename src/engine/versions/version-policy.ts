import { CatalogError } from '../../protocol/errors.ts';
import { parseDuration } from '../../protocol/units.ts';

/** How long versions of a table are kept: a version goes when neither key keeps it. Null keeps all. */
export interface VersionPolicy {
  /** Since the next version replaced it, in milliseconds. */
  readonly keepForMillis: number | null;
  /** The newest versions of each line, by number. */
  readonly keepLast: number | null;
}

type Properties = Readonly<Record<string, string>>;

/** Longest accepted duration, in milliseconds: dates that far away are still valid. */
const LONGEST = 365_250 * 86_400_000;
const MOST = 1_000_000;

/** The forms of both keys, for messages. */
export const versionKeyForms = {
  keepFor: 'a duration such as 7d, or null',
  keepLast: `a whole number from 1 to ${MOST}, or null`,
} as const;

/** A value of `versions.keep_for` in milliseconds, null for `null`; undefined for another text. */
export function parseKeepFor(text: string): number | null | undefined {
  if (text === 'null') return null;
  const millis = parseDuration(text);
  return millis !== undefined && millis <= LONGEST ? millis : undefined;
}

/** A value of `versions.keep_last`, null for `null`; undefined for another text. */
export function parseKeepLast(text: string): number | null | undefined {
  if (text === 'null') return null;
  const count = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= MOST ? count : undefined;
}

interface PolicyProperty {
  readonly name: string;
  readonly parse: (text: string) => number | null | undefined;
  readonly form: string;
}

const properties: { readonly [Key in keyof VersionPolicy]: PolicyProperty } = {
  keepForMillis: {
    name: 'versions.keep_for',
    parse: parseKeepFor,
    form: versionKeyForms.keepFor,
  },
  keepLast: { name: 'versions.keep_last', parse: parseKeepLast, form: versionKeyForms.keepLast },
};

/** Checks the properties that override the retention of versions. @throws CatalogError InvalidInput. */
export function checkVersionProperties(given: Properties): void {
  for (const { name, parse, form } of Object.values(properties)) {
    const text = given[name];
    if (text === undefined || parse(text) !== undefined) continue;
    throw new CatalogError(
      'InvalidInput',
      `the property ${name} is ${JSON.stringify(text)}, but must be ${form}`,
    );
  }
}

/**
 * The policy of a table; undefined if all its versions stay.
 * @param layers Properties of the table and of its namespaces, nearest first. A property that
 * cannot be read keeps all versions.
 * @param configured The configured policy.
 * @param applies Whether the configured policy applies without a property.
 */
export function versionPolicyOf(
  layers: readonly Properties[],
  configured: VersionPolicy,
  applies: boolean,
): VersionPolicy | undefined {
  const valueOf = (key: keyof VersionPolicy): number | null | undefined => {
    const { name, parse } = properties[key];
    const text = layers.find((layer) => layer[name] !== undefined)?.[name];
    return text === undefined ? undefined : (parse(text) ?? null);
  };
  const keepForMillis = valueOf('keepForMillis');
  const keepLast = valueOf('keepLast');
  if (!applies && keepForMillis === undefined && keepLast === undefined) return undefined;
  return {
    keepForMillis: keepForMillis === undefined ? configured.keepForMillis : keepForMillis,
    keepLast: keepLast === undefined ? configured.keepLast : keepLast,
  };
}
