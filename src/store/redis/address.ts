import { StoreError } from '../store-error.ts';

/** One server of Redis. */
interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** Address of Redis, with credentials and transport. */
export interface RedisAddress {
  /** One server, a master behind sentinels, or a cluster. */
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly tls: boolean;
  readonly hosts: readonly RedisHost[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Number of the database; 0 for a cluster. */
  readonly database: number;
  /** Name of the master at the sentinels; empty for other kinds. */
  readonly master: string;
  /** Path of a file with additional trusted certificates. */
  readonly authorities: string | undefined;
}

const SHAPE =
  /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?#@]+)(?:\/(?<path>[^?#]*))?(?:\?ca=(?<ca>[^&#]+))?$/;
const HOST = /^(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/;

const PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Reads `redis://[user:password@]host[:port][/database]`, with `rediss` for TLS;
 * `redis+sentinel://host,host/master[/database]` and `redis+cluster://host,host`
 * for those; `?ca=FILE` names a file of certificates to trust.
 * @throws StoreError address. The message does not repeat the text, which may hold a password.
 */
export function parseRedisAddress(text: string): RedisAddress {
  const parts = SHAPE.exec(text)?.groups;
  if (parts === undefined) {
    throw wrong('is not redis[s][+sentinel|+cluster]://[user:password@]host[:port][,…][/…]');
  }
  const { scheme, kind = 'single', hosts = '', path = '' } = parts;
  if (!isKind(kind)) throw wrong(`has the unknown kind ${kind}`);
  const { master, database } = placeOf(kind, path);
  return {
    kind,
    tls: scheme === 'rediss',
    hosts: hostsOf(kind, hosts),
    username: decoded(parts['user']),
    password: decoded(parts['password']),
    database,
    master,
    authorities: decoded(parts['ca']),
  };
}

function isKind(text: string): text is RedisAddress['kind'] {
  return text === 'single' || text === 'sentinel' || text === 'cluster';
}

function hostsOf(kind: RedisAddress['kind'], text: string): readonly RedisHost[] {
  const hosts = text.split(',').map((each) => hostOf(each, kind));
  if (kind === 'single' && hosts.length > 1) {
    throw wrong('names several hosts, but neither +sentinel nor +cluster');
  }
  return hosts;
}

function hostOf(text: string, kind: RedisAddress['kind']): RedisHost {
  const parts = HOST.exec(text)?.groups;
  const fallback = kind === 'sentinel' ? SENTINEL_PORT : PORT;
  const port = Number(parts?.['port'] ?? fallback);
  if (parts === undefined || port === 0 || port > 65_535) {
    throw wrong(`has a host that is not NAME or NAME:PORT`);
  }
  return { host: (parts['host'] ?? '').replace(/^\[|\]$/g, ''), port };
}

interface DatabasePlace {
  readonly master: string;
  readonly database: number;
}

function placeOf(kind: RedisAddress['kind'], path: string): DatabasePlace {
  const segments = path.split('/');
  const master = kind === 'sentinel' ? (decoded(segments.shift()) ?? '') : '';
  if (kind === 'sentinel' && master === '') {
    throw wrong('lacks the name of the master that the sentinels watch');
  }
  const [number = '', ...more] = segments;
  if (!/^\d{0,4}$/.test(number) || more.length > 0) {
    throw wrong('ends in something else than the number of a database');
  }
  if (kind === 'cluster' && Number(number) !== 0) {
    throw wrong('names a database, but a cluster has only the first');
  }
  return { master, database: Number(number) };
}

function decoded(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('has a part that is not percent-encoded UTF-8');
  }
}

function wrong(what: string): StoreError {
  return new StoreError('address', `the address of Redis ${what}`);
}
