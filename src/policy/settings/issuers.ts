import { isAbsolute, join } from 'node:path';
import { readFile } from 'node:fs/promises';
import type { Static } from 'typebox';
import { keyFileFault, type Issuer, type KeySource } from './issuer.ts';
import { issuersSchema } from './issuers-schema.ts';
import { PolicyError, type PolicyFinding } from '../lines/policy-error.ts';
import { readTypedYaml } from './typed-yaml.ts';

/** The file of the issuers of tokens. */
export const ISSUERS_FILE = 'issuers.yaml';

const MAX_TOLERANCE_SECONDS = 300;

type Entry = Static<typeof issuersSchema>['issuers'][number];

/** An issuer of the file, with the places that findings need. */
interface Placed {
  readonly entry: Entry;
  readonly lineOf: (key: string) => number;
}

/**
 * Reads the text of an `issuers.yaml` that lies in a folder. No file is opened.
 * @throws PolicyError for unknown keys, values that do not fit, and issuers that could be taken for one another.
 */
export function parseIssuers(text: string, folder: string): readonly Issuer[] {
  const yaml = readTypedYaml(ISSUERS_FILE, text, issuersSchema);
  const placed = yaml.value.issuers.map((entry, index) => ({
    entry,
    lineOf: (key: string) => yaml.lineOf(['issuers', index, key]),
  }));
  const findings = [...placed.flatMap(faultsOf), ...placed.flatMap(clashesOf)];
  if (findings.length > 0) throw new PolicyError(findings);
  return placed.map(({ entry }) => issuerOf(entry, folder));
}

/** The same, and looks into the key sets that are files. @throws PolicyError */
export async function loadIssuers(text: string, folder: string): Promise<readonly Issuer[]> {
  const issuers = parseIssuers(text, folder);
  const findings = await Promise.all(issuers.map(keyFileFindings));
  // Key sets may lie in other folders, and be read after the entry that names them.
  if (findings.some((found) => found.length > 0)) throw new PolicyError(findings.flat(), true);
  return issuers;
}

async function keyFileFindings({ name, keys }: Issuer): Promise<readonly PolicyFinding[]> {
  if (keys.kind !== 'file') return [];
  const fault = await readFile(keys.path, 'utf8').then(
    keyFileFault,
    (error: NodeJS.ErrnoException) => `cannot be read (${error.code})`,
  );
  if (fault === undefined) return [];
  return [{ file: ISSUERS_FILE, text: `the jwks_file of ${name}, ${keys.path}, ${fault}` }];
}

function issuerOf(entry: Entry, folder: string): Issuer {
  return {
    name: entry.name,
    issuer: entry.issuer,
    audiences: typeof entry.audience === 'string' ? [entry.audience] : entry.audience,
    keys: keySourceOf(entry, folder),
    algorithms: entry.algorithms,
    subjectClaim: entry.subject_claim ?? 'sub',
    groupsClaim: entry.groups_claim ?? 'groups',
    subjectPrefix: entry.subject_prefix ?? '',
    groupPrefix: entry.group_prefix ?? '',
    clockTolerance: secondsOf(entry.clock_tolerance ?? '5s'),
  };
}

function keySourceOf({ jwks_uri: uri, jwks_file: file = '' }: Entry, folder: string): KeySource {
  if (uri !== undefined) return { kind: 'uri', uri };
  return { kind: 'file', path: isAbsolute(file) ? file : join(folder, file) };
}

function secondsOf(duration: string): number {
  return Number.parseInt(duration, 10) * (duration.endsWith('m') ? 60 : 1);
}

function faultsOf({ entry, lineOf }: Placed): readonly PolicyFinding[] {
  const { jwks_uri: uri, jwks_file: file, clock_tolerance: tolerance = '5s' } = entry;
  const found: [key: string, text: string | undefined][] = [
    ['name', keysFault(entry.name, uri, file)],
    ['jwks_uri', uri === undefined ? undefined : addressFault(uri)],
    [
      'clock_tolerance',
      secondsOf(tolerance) > MAX_TOLERANCE_SECONDS
        ? `clock_tolerance must be at most 5m, not "${tolerance}"`
        : undefined,
    ],
  ];
  return found.flatMap(([key, text]) =>
    text === undefined ? [] : [{ file: ISSUERS_FILE, line: lineOf(key), text }],
  );
}

function keysFault(
  name: string,
  uri: string | undefined,
  file: string | undefined,
): string | undefined {
  if (uri === undefined && file === undefined)
    return `${name} has neither a jwks_uri nor a jwks_file`;
  return uri === undefined || file === undefined
    ? undefined
    : `${name} has both a jwks_uri and a jwks_file: one of them is enough`;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function addressFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return 'jwks_uri is no valid URL';
  if (url.username !== '' || url.password !== '') {
    return 'jwks_uri holds a user or a password: a key set is public';
  }
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && LOOPBACK.test(url.hostname)) return undefined;
  return 'jwks_uri must begin https:// unless it is on this machine: otherwise the keys could be changed in transit';
}

/** Each pair of issuers that could be confused, reported at the later one. */
function clashesOf(later: Placed, index: number, all: readonly Placed[]): readonly PolicyFinding[] {
  return all.slice(0, index).flatMap((earlier) => clashes(earlier, later));
}

function clashes(
  { entry: one }: Placed,
  { entry: other, lineOf }: Placed,
): readonly PolicyFinding[] {
  const same = (['name', 'issuer'] as const)
    .filter((key) => one[key] === other[key])
    .map((key) => [key, `two issuers have the ${key} ${JSON.stringify(one[key])}`] as const);
  const close = (['subject_prefix', 'group_prefix'] as const)
    .filter((key) => isWithin(one[key] ?? '', other[key] ?? ''))
    .map((key) => [key, prefixClash(key, one, other)] as const);
  return [...same, ...close].map(([key, text]) => ({
    file: ISSUERS_FILE,
    line: lineOf(key),
    text,
  }));
}

function isWithin(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one);
}

function prefixClash(key: 'subject_prefix' | 'group_prefix', one: Entry, other: Entry): string {
  const name = key === 'subject_prefix' ? 'subject' : 'group';
  const [first, second] = [one, other].map((entry) => JSON.stringify(entry[key] ?? ''));
  return `${one.name} and ${other.name} could yield the same ${name}: the ${key} ${first} and ${second} begin alike`;
}
