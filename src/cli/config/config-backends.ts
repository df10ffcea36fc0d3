import type { BackendDialect } from '../../gateway/backends/backend-options.ts';
import { choice, textSetting, texts, timeout, whole, type SettingKind } from './config-kinds.ts';
import {
  Fault,
  listKind,
  membersOf,
  onlyKnown,
  readName,
  readTruth,
  readVariable,
  readAs,
  wrong,
  type Members,
  type SettingPlace,
} from './config-members.ts';
import { rightsOfAction } from '../../policy/lines/rights.ts';
import { parsePattern } from '../../policy/lines/pattern.ts';

/** The engine in this process, as the configuration names it. */
interface EmbeddedSetting {
  readonly name: string;
  readonly type: 'embedded';
  readonly namespaces: readonly string[];
}

/** A remote catalog, as the configuration names it: everything filled in, times in milliseconds. */
export interface HttpSetting {
  readonly name: string;
  readonly type: 'http';
  readonly url: string;
  readonly namespaces: readonly string[];
  readonly strip_prefix: boolean;
  /** Name of the variable that holds the credential; never the credential. */
  readonly credential_env: string | null;
  /** The dialects that it understands; a request in the other one is translated. */
  readonly dialect: BackendDialect;
  /** The `x-lancedb-database` of every request to it; null for none. */
  readonly database: string | null;
  readonly trust: readonly string[];
  /** A `total` of 0 is no limit. */
  readonly timeouts: { readonly connect: number; readonly idle: number; readonly total: number };
  readonly connections: number;
  readonly breaker: { readonly failures: number; readonly open: number };
}

export type BackendSetting = EmbeddedSetting | HttpSetting;

const EVERYTHING: EmbeddedSetting = { name: 'embedded', type: 'embedded', namespaces: ['/**'] };

/** The default: the engine alone. */
export const embeddedAlone: readonly BackendSetting[] = [EVERYTHING];

/** The list of backends. */
export const backends: SettingKind<readonly BackendSetting[]> = listKind(
  '[{ name: embedded, type: embedded, namespaces: ["/**"] }]',
  readList,
);

function readList(value: unknown): readonly BackendSetting[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrong([], value, 'a list of at least one backend');
  }
  const list = value.map((entry, at) => readBackend(entry, at));
  for (const [at, { name, type }] of list.entries()) {
    if (list.findIndex((other) => other.name === name) < at) {
      throw wrong([at, 'name'], name, 'a name that no other backend has');
    }
    if (type === 'embedded' && list.findIndex((other) => other.type === type) < at) {
      throw wrong([at, 'type'], type, 'http: there is one embedded backend at most');
    }
  }
  return list;
}

function readBackend(value: unknown, at: number): BackendSetting {
  const members = membersOf(value, [at]);
  const type = members['type'];
  if (type === 'embedded') return readEmbedded(members, at);
  if (type === 'http') return readHttp(members, at);
  throw wrong([at, 'type'], type, 'one of embedded, http');
}

function readEmbedded(members: Members, at: number): EmbeddedSetting {
  onlyKnown(members, [at], ['name', 'type', 'namespaces']);
  return {
    name: readName(members, at),
    type: 'embedded',
    namespaces: readPatterns(members, at, false),
  };
}

const dialects = choice('both', 'namespace', 'lancedb');

const httpKeys = [
  'name',
  'type',
  'url',
  'namespaces',
  'strip_prefix',
  'credential_env',
  'dialect',
  'database',
  'trust',
  'timeouts',
  'connections',
  'breaker',
];

function readHttp(members: Members, at: number): HttpSetting {
  onlyKnown(members, [at], httpKeys);
  const place = (key: string): SettingPlace => [at, key];
  const strip = readTruth(members['strip_prefix'] ?? false, place('strip_prefix'));
  return {
    name: readName(members, at),
    type: 'http',
    url: readUrl(members['url'], place('url')),
    namespaces: readPatterns(members, at, strip),
    strip_prefix: strip,
    credential_env: readVariable(members['credential_env'] ?? null, place('credential_env')),
    dialect: readAs(dialects, members['dialect'] ?? 'both', place('dialect')),
    database: readDatabase(members['database'] ?? null, place('database')),
    trust: readTrust(members['trust'] ?? [], place('trust')),
    timeouts: readTimeouts(members['timeouts'] ?? {}, place('timeouts')),
    connections: readAs(whole(1, 65_535), members['connections'] ?? 64, place('connections')),
    breaker: readBreaker(members['breaker'] ?? {}, place('breaker')),
  };
}

function readUrl(value: unknown, place: SettingPlace): string {
  const url = readAs(textSetting, value, place);
  const must = urlFault(url);
  // The value is not repeated: it may contain a password.
  if (must !== undefined) throw new Fault({ kind: 'wrong', must, at: place, hidden: true });
  return url;
}

function readPatterns(members: Members, at: number, strip: boolean): readonly string[] {
  const place = [at, 'namespaces'];
  const patterns = readAs(texts, members['namespaces'], place);
  const must = patternsFault(patterns, strip);
  if (must !== undefined) throw wrong(place, patterns, must);
  return patterns;
}

function readDatabase(value: unknown, place: SettingPlace): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)) return value;
  throw wrong(place, value, '1 to 256 visible ASCII characters');
}

function readTrust(value: unknown, place: SettingPlace): readonly string[] {
  const trust = readAs(texts, value, place);
  for (const [index, action] of trust.entries()) {
    const must = trustFault(action);
    if (must !== undefined) throw wrong([...place, index], action, must);
  }
  return trust;
}

/** Default timeouts of a remote backend, as they are written. */
export const backendTimeouts = { connect: '2s', idle: '60s', total: 0 } as const;

function readTimeouts(value: unknown, place: SettingPlace): HttpSetting['timeouts'] {
  const members = membersOf(value, place);
  onlyKnown(members, place, ['connect', 'idle', 'total']);
  const total = members['total'] ?? backendTimeouts.total;
  const none = total === 0 || total === '0' || total === '0s';
  return {
    connect: readAs(timeout, members['connect'] ?? backendTimeouts.connect, [...place, 'connect']),
    idle: readAs(timeout, members['idle'] ?? backendTimeouts.idle, [...place, 'idle']),
    total: none ? 0 : readAs(timeout, total, [...place, 'total']),
  };
}

function readBreaker(value: unknown, place: SettingPlace): HttpSetting['breaker'] {
  const members = membersOf(value, place);
  onlyKnown(members, place, ['failures', 'open']);
  return {
    failures: readAs(whole(1, 1_000_000), members['failures'] ?? 5, [...place, 'failures']),
    open: readAs(timeout, members['open'] ?? '10s', [...place, 'open']),
  };
}

/** The expected form of a backend's address, if the value is invalid. */
function urlFault(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    return 'an address that begins with http:// or https://';
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return 'an address without user and password: the credential is named by credential_env';
  }
  return parsed.search === '' && parsed.hash === '' && !/[?#]/.test(url)
    ? undefined
    : 'an address without query and fragment';
}

/** The expected form of a backend's patterns, if the value is invalid. */
function patternsFault(patterns: readonly string[], strip: boolean): string | undefined {
  if (patterns.length === 0) return 'a list of at least one pattern';
  for (const text of patterns) {
    const result = parsePattern(text);
    if ('fault' in result) return `patterns as in a policy: ${result.fault}`;
  }
  if (!strip || isFixed(patterns)) return undefined;
  return 'one pattern of fixed names that ends in /**, since strip_prefix is true';
}

/** Two prefixes, or one that is not fixed, would give one object of the backend several names. */
function isFixed(patterns: readonly string[]): boolean {
  const [pattern = '', ...others] = patterns;
  return others.length === 0 && /^(\/[^*/]+)+\/\*\*$/.test(pattern);
}

/** The expected form of an entry of `trust`, if the value is invalid. */
function trustFault(action: string): string | undefined {
  return rightsOfAction(action) === undefined || action === 'audit'
    ? 'the name of an operation or of an access group, or *'
    : undefined;
}
