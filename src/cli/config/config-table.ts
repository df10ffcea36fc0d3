import { databases } from './config-databases.ts';
import { formats } from './config-formats.ts';
import { tableFormats } from '../../engine/versions/table-format.ts';
import { defaultBudget } from '../../protocol/budget.ts';
import { backends, embeddedAlone } from './config-backends.ts';
import { objectStores } from './config-object-stores.ts';
import {
  age,
  catalogName,
  choice,
  duration,
  httpUrl,
  networks,
  numberOrAuto,
  orNull,
  pause,
  redisUrl,
  size,
  sizeBetween,
  textSetting,
  texts,
  timeout,
  yesOrNo,
  whole,
  type SettingKind,
} from './config-kinds.ts';

/** One key of the configuration: everything that is known of it, once. */
interface Setting<Value> {
  readonly kind: SettingKind<Value>;
  readonly default: Value;
  /** The default as it is written. */
  readonly shown: string;
  readonly about: string;
  /** Name of the flag, without its dashes. */
  readonly flag?: string;
  /** A shorter name of the variable, beside `ARROWGATE_<PATH>`. */
  readonly variable?: string;
  /** True when the value must not be shown, nor stand in the file. */
  readonly secret?: boolean;
  /** True when the value may hold a password, and so is never repeated. */
  readonly hidden?: boolean;
}

type Extras = Pick<Setting<unknown>, 'flag' | 'variable' | 'secret' | 'hidden'>;

function setting<Value>(
  kind: SettingKind<Value>,
  initial: NoInfer<Value>,
  shown: string,
  about: string,
  extras: Extras = {},
): Setting<Value> {
  return { kind, default: initial, shown, about, ...extras };
}

const MIB = 1024 * 1024;
const redacted = [
  '*token*',
  '*secret*',
  '*passw*',
  '*key*',
  '*authorization*',
  '*credential*',
  '*cookie*',
];

/** All keys, by their path in the file. */
export const settings = {
  'listen.host': setting(textSetting, '127.0.0.1', '127.0.0.1', 'address to listen on', {
    flag: 'host',
    variable: 'ARROWGATE_HOST',
  }),
  'listen.port': setting(
    whole(0, 65_535),
    2333,
    '2333',
    'port to listen on; 0 takes any free one',
    {
      flag: 'port',
      variable: 'ARROWGATE_PORT',
    },
  ),
  'listen.backlog': setting(
    whole(1, 65_535),
    4096,
    '4096',
    'connections that may wait to be accepted; the kernel bounds them by net.core.somaxconn',
  ),
  'listen.tls.cert': setting(
    orNull(textSetting),
    null,
    'null',
    'file of the certificate chain; without it, plain HTTP',
  ),
  'listen.tls.key': setting(
    orNull(textSetting),
    null,
    'null',
    'file of the private key of the certificate',
  ),
  'listen.tls.client_ca': setting(
    orNull(textSetting),
    null,
    'null',
    'file of the authorities that issue client certificates',
  ),
  'listen.tls.client_subject': setting(
    choice('cn', 'san_uri'),
    'cn',
    'cn',
    'field of a client certificate that names the subject',
  ),
  'listen.admin.host': setting(
    textSetting,
    '127.0.0.1',
    '127.0.0.1',
    'address of the listener for metrics and health',
  ),
  'listen.admin.port': setting(
    orNull(whole(0, 65_535)),
    null,
    'null',
    'port of a separate listener for metrics and health, without authentication; null for none',
  ),
  processes: setting(whole(1, 64), 1, '1', 'number of processes that share the port', {
    flag: 'processes',
  }),
  'supervision.timeout': setting(
    orNull(timeout),
    15_000,
    '15s',
    'how long one of several processes may not answer its supervisor; then it is killed and replaced; null for any time',
  ),
  data: setting(textSetting, './data', './data', 'data folder', { flag: 'data' }),
  policies: setting(textSetting, './policies', './policies', 'folder of the policy files', {
    flag: 'policies',
  }),
  warm_up: setting(
    yesOrNo,
    true,
    'true',
    'whether a process runs its code on a temporary catalog when it has just started and nobody asks it, so that the first requests are fast',
  ),
  admin_key: setting<string | null>(
    textSetting,
    null,
    'none',
    'an administrator key for this process',
    {
      flag: 'admin-key',
      secret: true,
    },
  ),
  'coordination.redis': setting(
    orNull(redisUrl),
    null,
    'null',
    'URL of the shared store; without it, the embedded store',
    { flag: 'redis', variable: 'ARROWGATE_REDIS_URL', hidden: true },
  ),
  'coordination.catalog': setting(
    catalogName,
    'default',
    'default',
    'name of the catalog in the shared store',
  ),
  'coordination.wait': setting(
    timeout,
    5000,
    '5s',
    'how long a change waits for another process that writes to the embedded store; then it is refused with 503',
  ),
  trusted_proxies: setting(
    networks,
    [],
    '[]',
    'networks of proxies whose X-Forwarded-* headers are used',
  ),
  'authorize.body_ids': setting(
    choice('checked', 'unchecked'),
    'checked',
    'checked',
    'whether a catalog behind /authorize that is not listed as a backend refuses ids in bodies that differ from the route',
  ),
  'locations.managed': setting(
    orNull(textSetting),
    null,
    '<data>/lance',
    'where the tables lie that Lance clients write: a folder, or `STORE:/PATH` in an object store',
  ),
  'locations.permissions': setting(
    choice('umask', 'owner', 'group', 'all'),
    'umask',
    'umask',
    'who may use the folders that the gateway creates for Lance clients: as the umask at start permits, its owner, its group, or all users',
  ),
  'locations.allowed': setting(
    texts,
    [],
    '[]',
    'folders, or places such as `STORE:/PATH` in object stores, in which tables may be registered',
  ),
  object_stores: setting(
    objectStores,
    [],
    '[]',
    'S3-compatible object stores, in which Lance tables, the journal and the audit archive may lie; tried at the start',
  ),
  journal: setting(
    orNull(textSetting),
    null,
    '<data>/catalog',
    'where the journal of the catalog lies if not in the data folder: `STORE:/PATH` in an object store; then gateways share nothing but Redis and this store',
  ),
  backends: setting(
    backends,
    embeddedAlone,
    'one embedded backend for everything',
    'the backend of each namespace; the first match wins',
  ),
  databases: setting(
    databases,
    {},
    '{}',
    'root namespaces of requests, by the value of the header x-lancedb-database',
  ),
  'keys.secret_file': setting(
    orNull(textSetting),
    null,
    '<data>/private/key-secret',
    'file with the secret that authenticates API keys in Redis, the same for all gateways of a catalog',
  ),
  'audit.durable': setting(
    choice('mutations', 'all'),
    'mutations',
    'mutations',
    'requests whose records are on disk before the answer',
  ),
  'audit.rotate_bytes': setting(size, 64 * MIB, '64MiB', 'size at which an audit file is closed'),
  'audit.retain': setting(duration, 400 * 86_400_000, '400d', 'how long audit files are kept'),
  'audit.signing_key': setting(
    orNull(textSetting),
    null,
    '<data>/private',
    'Ed25519 key (PEM) that signs checkpoints; without it, one is created',
  ),
  'audit.anchor_file': setting(
    orNull(textSetting),
    null,
    'null',
    'file to which every checkpoint is appended, in addition to the store',
  ),
  'audit.archive': setting(
    orNull(textSetting),
    null,
    'null',
    'where a copy of the audit log lies: `STORE:/PATH` in an object store; then searches and `audit verify` see the logs of all gateways',
  ),
  'audit.archive_cache': setting(
    size,
    4096 * MIB,
    '4GiB',
    "size of the copies of other gateways' audit segments in the data folder",
  ),
  'audit.redact': setting(
    texts,
    redacted,
    JSON.stringify(redacted),
    'context keys whose values are not recorded',
  ),
  'audit.statements': setting(
    choice('text', 'digest', 'off'),
    'text',
    'text',
    'how predicates and expressions of changes are recorded: as text, as SHA-256 digest, or not at all',
  ),
  'cache.bytes': setting(
    size,
    256 * MIB,
    '256MiB',
    'size of the read cache, of all processes together',
  ),
  'limits.json_body': setting(
    sizeBetween([1024, '1KiB'], [1024 * MIB, '1GiB']),
    8 * MIB,
    '8MiB',
    'largest JSON body',
  ),
  'limits.arrow_body': setting(orNull(size), null, 'null', 'largest Arrow body; null for no limit'),
  'limits.page': setting(
    whole(1, 1_000_000),
    1000,
    '1000',
    'most entries on one page of a listing',
  ),
  'limits.header': setting(
    sizeBetween([1024, '1KiB'], [MIB, '1MiB']),
    16 * 1024,
    '16KiB',
    'largest headers of a request',
  ),
  'limits.request_timeout': setting(timeout, 300_000, '300s', 'idle timeout of a connection'),
  'limits.failed_identifications': setting(
    orNull(whole(1, 1_000_000)),
    60,
    '60',
    'failed authentications per minute and address, four times as many per network; null for no limit',
  ),
  'limits.scans': setting(
    orNull(whole(1, 1_000_000)),
    16,
    '16',
    'concurrent queries and counts of one subject in a process; null for no limit',
  ),
  'budget.time': setting(
    duration,
    defaultBudget.time,
    '60s',
    'processor time of one request; see the guide on budgets',
  ),
  'budget.memory': setting(
    sizeBetween([16 * MIB, '16MiB'], [1024 ** 4, '1TiB']),
    defaultBudget.memory,
    '512MiB',
    'memory that one request may hold',
  ),
  'budget.result': setting(
    orNull(size),
    defaultBudget.result,
    'null',
    'largest answer to one request; null for no limit',
  ),
  'budget.decompressed': setting(
    size,
    defaultBudget.decompressed,
    '4GiB',
    'largest decompressed body of one request',
  ),
  'budget.rows': setting(
    orNull(whole(1, Number.MAX_SAFE_INTEGER)),
    defaultBudget.rows,
    'null',
    'rows that one request may add to a table; null for no limit',
  ),
  'drop.retention': setting(
    duration,
    86_400_000,
    '24h',
    'retention of a dropped table, which can be restored meanwhile',
  ),
  'versions.keep_for': setting(
    orNull(age),
    7 * 86_400_000,
    '7d',
    'how long a version is kept after the next one replaced it; null keeps all',
  ),
  'versions.keep_last': setting(
    orNull(whole(1, 1_000_000)),
    100,
    '100',
    'newest versions of each line of a table that are kept; null keeps all',
  ),
  'compaction.fragments': setting(
    orNull(whole(8, 10_000)),
    32,
    '32',
    'number of adjacent files of similar size from which on they are merged in the background; null for never',
  ),
  'scrub.rate': setting(
    orNull(sizeBetween([64 * 1024, '64KiB'], [1024 ** 4, '1TiB'])),
    4 * MIB,
    '4MiB',
    'bytes of files that all gateways of a catalog together read in a second to find damage; null for none',
  ),
  'scrub.period': setting(
    duration,
    7 * 86_400_000,
    '7d',
    'time from the end of one such pass over all files to the begin of the next',
  ),
  'idempotence.window': setting(
    duration,
    900_000,
    '15m',
    'how long a repeated request is recognised',
  ),
  workers: setting(
    numberOrAuto(whole(0, 64)),
    'auto',
    'auto',
    'worker threads for expensive operations: auto for all processors but one',
  ),
  'tables.format': setting(
    choice(...tableFormats),
    'arrow',
    'arrow',
    'format of the tables that CreateTable makes: arrow is read and written here alone, lance by Lance clients as well. A namespace overrides it with its property table.format',
  ),
  'tables.local': setting(
    yesOrNo,
    false,
    'false',
    'whether a journal in an object store allows tables whose files only one gateway has: tables in Arrow files, and Lance tables in a folder',
  ),
  'tables.formats': setting(
    formats,
    [],
    '[]',
    'formats by tables, such as { tables: ["/spark/**"], format: lance }; the first match counts',
  ),
  'lance.engine': setting(
    choice('auto', 'off', 'required'),
    'auto',
    'auto',
    'whether queries read Lance tables through the package @lancedb/lancedb: auto if it is installed, off, or required at the start',
  ),
  'lance.processes': setting(
    whole(1, 64),
    1,
    '1',
    'processes of the Lance library, started when a Lance table is read',
  ),
  'lance.memory': setting(
    sizeBetween([256 * MIB, '256MiB'], [1024 ** 4, '1TiB']),
    1024 * MIB,
    '1GiB',
    'memory of one process of the Lance library: above it the process is replaced between requests; the kernel refuses it half as much more',
  ),
  'lance.rules.bytes': setting(
    sizeBetween([MIB, '1MiB'], [1024 ** 4, '1TiB']),
    1024 * MIB,
    '1GiB',
    'bytes of the rows of a Lance table that one commit rule reads at most to judge one commit by check or unique; a rule that needs more refuses',
  ),
  'lance.rules.time': setting(
    duration,
    30_000,
    '30s',
    'how long the Lance library may work for one commit rule on one commit; a rule that needs longer refuses',
  ),
  'log.level': setting(
    choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'info',
    'least severe log entries that are written',
  ),
  'log.format': setting(
    choice('json', 'text'),
    'json',
    'json',
    'form of the log: an object a line, or a sentence a line for readers',
  ),
  'shutdown.delay': setting(
    pause,
    0,
    '0s',
    'how long the listener stays open after SIGTERM, while /readyz answers 503',
  ),
  'shutdown.grace': setting(
    pause,
    30_000,
    '30s',
    'how long requests in flight may continue once the listener is closed',
  ),
  'telemetry.otlp_endpoint': setting(
    orNull(httpUrl),
    null,
    'null',
    'OTLP/HTTP collector of traces and of copies of the audit records; null for none',
    { hidden: true },
  ),
};

export type ConfigPath = keyof typeof settings;

type ValueOf<Row> = Row extends Setting<infer Value> ? Value : never;

/** The value of every key. */
export type Config = { readonly [Path in ConfigPath]: ValueOf<(typeof settings)[Path]> };

/** The paths of all keys, in the order of the table. */
export const configPaths = Object.keys(settings) as readonly ConfigPath[];

/** The row of a key, with any type. */
export function settingOf(path: ConfigPath): Setting<unknown> {
  return settings[path];
}

/** The variables a key can be set by, the documented name first. */
export function variablesOf(path: ConfigPath): readonly string[] {
  const { variable } = settingOf(path);
  const full = `ARROWGATE_${path.replaceAll('.', '_').toUpperCase()}`;
  return variable === undefined ? [full] : [variable, full];
}
