import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/cli/config/config.ts';
import { unknownVariables, type Environment } from '../../../src/cli/config/config-environment.ts';
import { dataFolderOf } from '../../../src/cli/service/data-folder.ts';
import { fileSource } from '../../../src/cli/config/config-file.ts';
import {
  configPaths,
  settingOf,
  settings,
  variablesOf,
  type Config,
  type ConfigPath,
} from '../../../src/cli/config/config-table.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-config-'));
  file = join(folder, 'a.yaml');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function load(
  yaml: string,
  environment: Environment = {},
  flags: Partial<Record<ConfigPath, string>> = {},
): Promise<Config> {
  await writeFile(file, yaml);
  const values = new Map(Object.entries(flags)) as ReadonlyMap<ConfigPath, string>;
  return loadConfig({ config: file, values }, environment);
}

describe('the configuration', () => {
  it('is the defaults when nothing is said', async () => {
    const defaults = configPaths.map((path) => [path, settingOf(path).default]);
    expect(await load('')).toEqual(Object.fromEntries(defaults));
  });

  it('reads every key of the documented file at its default', async () => {
    const documented = `
      listen: { host: 127.0.0.1, port: 2333 }
      data: ./data
      policies: ./policies
      coordination: { redis: null, catalog: default, wait: 5s }
      trusted_proxies: []
      locations: { allowed: [] }
      backends:
        - { name: embedded, type: embedded, namespaces: ["/**"] }
      audit: { durable: mutations, rotate_bytes: 64MiB, retain: 400d, signing_key: null,
               anchor_file: null, redact: ["*token*", "*secret*", "*passw*", "*key*", "*authorization*", "*credential*", "*cookie*"] }
      cache: { bytes: 256MiB }
      limits: { json_body: 8MiB, arrow_body: null, page: 1000, header: 16KiB, request_timeout: 300s }
      drop: { retention: 24h }
      versions: { keep_for: 7d, keep_last: 100 }
      idempotence: { window: 15m }
      workers: auto
      log: { level: info, format: json }
      telemetry: { otlp_endpoint: null }`;
    expect(await load(documented)).toEqual(await load(''));
  });

  it('prefers a flag to a variable, that to the file, and that to the default', async () => {
    const yaml = 'listen: { port: 1 }\ncache: { bytes: 1KiB }\nlog: { level: warn }\n';
    const environment = { ARROWGATE_PORT: '2', ARROWGATE_CACHE_BYTES: '2KiB' };
    const config = await load(yaml, environment, { 'listen.port': '3' });
    expect(config['listen.port']).toBe(3);
    expect(config['cache.bytes']).toBe(2048);
    expect(config['log.level']).toBe('warn');
    expect(config['listen.host']).toBe('127.0.0.1');
  });

  it('takes every key from a variable named by its path', () => {
    const config = loadConfig(
      { values: new Map() },
      {
        ARROWGATE_LISTEN_HOST: '::1',
        ARROWGATE_LIMITS_REQUEST_TIMEOUT: '2m',
        ARROWGATE_AUDIT_REDACT: '["a*", b]',
        ARROWGATE_LIMITS_ARROW_BODY: 'null',
      },
    );
    expect(config['listen.host']).toBe('::1');
    expect(config['limits.request_timeout']).toBe(120_000);
    expect(config['audit.redact']).toEqual(['a*', 'b']);
    expect(config['limits.arrow_body']).toBeNull();
  });

  it.each([
    ['10.0.0.0/8, 127.0.0.1', ['10.0.0.0/8', '127.0.0.1']],
    ['127.0.0.1', ['127.0.0.1']],
    ['["10.0.0.0/8", "::1"]', ['10.0.0.0/8', '::1']],
    ['- ::1\n- 127.0.0.1\n', ['::1', '127.0.0.1']],
    [' ', []],
    ['[]', []],
  ])('takes the list of a variable with commas or as YAML: %j', async (text, list) => {
    const config = await load('', { ARROWGATE_TRUSTED_PROXIES: text });
    expect(config.trusted_proxies).toEqual(list);
  });

  it('takes lists of maps and maps of variables as YAML', async () => {
    const config = await load('', {
      ARROWGATE_OBJECT_STORES: '[{ name: lake, url: "s3://bucket/prefix" }]',
      ARROWGATE_BACKENDS: '[{ name: embedded, type: embedded, namespaces: ["/**"] }]',
      ARROWGATE_TABLES_FORMATS: '[{ tables: ["/spark/**"], format: lance }]',
      ARROWGATE_DATABASES: '{ prod: /prod }',
      ARROWGATE_LOCATIONS_ALLOWED: '/srv/lance,lake:/lance',
    });
    expect(config.object_stores).toMatchObject([{ name: 'lake', bucket: 'bucket' }]);
    expect(config['tables.formats']).toHaveLength(1);
    expect(config.databases).toEqual({ prod: '/prod' });
    expect(config['locations.allowed']).toEqual(['/srv/lance', 'lake:/lance']);
  });

  it('shows a text that is taken where it refuses one of a list or a map', async () => {
    const structured = configPaths.filter((path) => settingOf(path).kind.text.kind !== 'plain');
    expect(structured.length).toBeGreaterThan(5);
    for (const path of structured) {
      const { text } = settingOf(path).kind;
      const example = text.kind === 'plain' ? '' : text.example;
      const [variable = ''] = variablesOf(path);
      expect(await load('', { [variable]: example })).toBeDefined();
      const refused = load('', { [variable]: '[{' });
      await expect(refused).rejects.toThrow(
        new RegExp(`^${variable} is not valid YAML: .* such as`),
      );
      await expect(load('', { [variable]: '[1]' })).rejects.toThrow(variable);
    }
  });

  it('has null and zero for the retention of versions', async () => {
    const keepForEver = await load('versions: { keep_for: null, keep_last: null }\n');
    expect(keepForEver['versions.keep_for']).toBeNull();
    expect(keepForEver['versions.keep_last']).toBeNull();
    expect((await load('versions: { keep_for: 0s }\n'))['versions.keep_for']).toBe(0);
  });

  it('is read from the file that a variable names', async () => {
    await writeFile(file, 'data: elsewhere\n');
    expect(loadConfig({ values: new Map() }, { ARROWGATE_CONFIG: file }).data).toBe('elsewhere');
  });

  it('takes any text for the administrator key', async () => {
    expect((await load('', {}, { admin_key: 'null' })).admin_key).toBe('null');
    expect((await load('')).admin_key).toBeNull();
  });

  it('follows anchors', async () => {
    const config = await load('data: &d /d\npolicies: *d\n');
    expect(config.policies).toBe('/d');
  });

  it('points out variables that are misspelt', () => {
    const names = { ARROWGATE_PROT: '1', ARROWGATE_PORT: '1', ARROWGATE_CONFIG: 'x', PATH: '/' };
    expect(unknownVariables(names)).toEqual(['ARROWGATE_PROT']);
  });

  it('puts the data folder where a path names it', async () => {
    const at = async (yaml: string) => dataFolderOf(await load(yaml)).lance;
    expect(await at('data: /d\n')).toBe('/d/lance');
    expect(await at('data: /d\nlocations: { managed: <data>/lance }\n')).toBe('/d/lance');
    expect(await at('data: /d\nlocations: { managed: <data> }\n')).toBe('/d');
    expect(await at('data: /d\nlocations: { managed: /e/<data> }\n')).toBe('/e/<data>');
  });

  it('has defaults that its own kinds read back', () => {
    for (const path of configPaths.filter((each) => settingOf(each).secret !== true)) {
      const { kind, default: initial } = settings[path];
      const written =
        typeof initial === 'number' && kind.name.startsWith('duration') ? `${initial}ms` : initial;
      expect(kind.read(written), path).toEqual({ kind: 'value', value: initial });
    }
  });
});

describe('a configuration that cannot be used is refused in one sentence', () => {
  it.each([
    ['listen:\n  prot: 1\n', 'F:2: listen.prot is not a key of the configuration'],
    ['lisen: {}\n', 'F:1: lisen is not a key of the configuration'],
    ['admin_key: x\n', 'F:1: admin_key is not a key of the configuration'],
    ['listen: 7\n', 'F:1: listen must hold keys and values'],
    ['- 1\n', 'F:1: the file must hold keys and values'],
    ['data: a\ndata: b\n', 'F:2: data is given more than once'],
    ['data: "a\n', 'F:2: this is not valid YAML (MISSING_CHAR)'],
    ['data: ""\n', 'F:1: data is "", but must be a text that is not empty'],
    ['data: [a]\n', 'F:1: data is ["a"], but must be a text that is not empty'],
    [
      '\n\nlisten: { port: 65536 }\n',
      'F:3: listen.port is 65536, but must be a whole number from 0 to 65535',
    ],
    [
      'listen: { port: 1.5 }\n',
      'F:1: listen.port is 1.5, but must be a whole number from 0 to 65535',
    ],
    ['cache: { bytes: 64MB }\n', 'F:1: cache.bytes is "64MB", but must be a size such as 64MiB'],
    ['cache: { bytes: -1 }\n', 'F:1: cache.bytes is -1, but must be a size such as 64MiB'],
    ['cache: { bytes: null }\n', 'F:1: cache.bytes is null, but must be a size such as 64MiB'],
    [
      'limits: { request_timeout: 300 }\n',
      'F:1: limits.request_timeout is 300, but must be a duration such as 300s, 15m or 24h',
    ],
    [
      'limits: { request_timeout: 0s }\n',
      'F:1: limits.request_timeout is "0s", but must be a duration such as 300s, 15m or 24h',
    ],
    [
      'limits: { request_timeout: 25d }\n',
      'F:1: limits.request_timeout is "25d", but must be a duration of at most 24d',
    ],
    [
      'audit: { durable: none }\n',
      'F:1: audit.durable is "none", but must be one of mutations, all',
    ],
    ['audit: { redact: x }\n', 'F:1: audit.redact is "x", but must be a list of texts'],
    [
      'log:\n  level: loud\n',
      'F:2: log.level is "loud", but must be one of trace, debug, info, warn, error, fatal, silent',
    ],
    ['listen: { tls: { crt: a } }\n', 'F:1: listen.tls.crt is not a key of the configuration'],
    ['listen: { admin: 9 }\n', 'F:1: listen.admin must hold keys and values'],
    [
      'listen: { tls: { client_subject: dn } }\n',
      'F:1: listen.tls.client_subject is "dn", but must be one of cn, san_uri',
    ],
    ['limits: { header: 1 }\n', 'F:1: limits.header is 1, but must be a size from 1KiB to 1MiB'],
    [
      'limits: { json_body: 0 }\n',
      'F:1: limits.json_body is 0, but must be a size from 1KiB to 1GiB',
    ],
    [
      'coordination: { redis: "h:6379" }\n',
      'F:1: coordination.redis is wrong, but must be redis[s][+sentinel|+cluster]://[user:password@]host[:port]',
    ],
    [
      'coordination: { wait: 0s }\n',
      'F:1: coordination.wait is "0s", but must be a duration such as 300s, 15m or 24h',
    ],
    [
      'coordination: { wait: 30d }\n',
      'F:1: coordination.wait is "30d", but must be a duration of at most 24d',
    ],
    [
      'backends:\n  - { name: west, type: http }\n',
      'F:2: backends[0].url is nothing, but must be a text that is not empty',
    ],
    [
      'telemetry: { otlp_endpoint: "o:4318" }\n',
      'F:1: telemetry.otlp_endpoint is wrong, but must be an address that begins with http:// or https://',
    ],
    [
      'telemetry: { otlp_endpoint: "http://u:p@o" }\n',
      'F:1: telemetry.otlp_endpoint is wrong, but must be an address that begins with http:// or https://',
    ],
    [
      'versions: { keep_for: 7 }\n',
      'F:1: versions.keep_for is 7, but must be a duration such as 7d',
    ],
    [
      'versions: { keep_for: 365251d }\n',
      'F:1: versions.keep_for is "365251d", but must be a duration such as 7d',
    ],
    [
      'versions: { keep_last: 0 }\n',
      'F:1: versions.keep_last is 0, but must be a whole number from 1 to 1000000',
    ],
    [
      'compaction: { fragments: 7 }\n',
      'F:1: compaction.fragments is 7, but must be a whole number from 8 to 10000',
    ],
    ['workers: 65\n', 'F:1: workers is 65, but must be auto or a whole number from 0 to 64'],
    ['workers: many\n', 'F:1: workers is "many", but must be auto or a whole number from 0 to 64'],
    [
      'supervision: { timeout: 0s }\n',
      'F:1: supervision.timeout is "0s", but must be a duration such as 300s, 15m or 24h',
    ],
    ['processes: 0\n', 'F:1: processes is 0, but must be a whole number from 1 to 64'],
    ['processes: auto\n', 'F:1: processes is "auto", but must be a whole number from 1 to 64'],
  ])('%j', async (yaml, sentence) => {
    await expect(load(yaml)).rejects.toMatchObject({
      name: 'ConfigError',
      message: sentence.replace('F', file),
    });
  });

  it.each([
    [{ ARROWGATE_PORT: 'x' }, 'ARROWGATE_PORT is "x", but must be a whole number from 0 to 65535'],
    [
      { ARROWGATE_PROCESSES: '65' },
      'ARROWGATE_PROCESSES is "65", but must be a whole number from 1 to 64',
    ],
    [{ ARROWGATE_PORT: '' }, 'ARROWGATE_PORT is "", but must be a whole number from 0 to 65535'],
    [
      { ARROWGATE_REDIS_URL: 'r' },
      'ARROWGATE_REDIS_URL is wrong, but must be redis[s][+sentinel|+cluster]://[user:password@]host[:port]',
    ],
    [
      { ARROWGATE_COORDINATION_CATALOG: 'a{b}' },
      'ARROWGATE_COORDINATION_CATALOG is "a{b}", but must be 1 to 64 letters, digits, dots, dashes and underscores',
    ],
    [
      { ARROWGATE_AUDIT_REDACT: '[' },
      'ARROWGATE_AUDIT_REDACT is not valid YAML: write it in one line, such as ONE,TWO',
    ],
    [
      { ARROWGATE_TRUSTED_PROXIES: 'localhost' },
      'ARROWGATE_TRUSTED_PROXIES is ["localhost"], but must be a list of networks such as 10.0.0.0/8: write it as 10.0.0.0/8,192.168.0.0/16',
    ],
    [
      { ARROWGATE_OBJECT_STORES: 'lake' },
      'ARROWGATE_OBJECT_STORES is "lake", but must be a list of object stores: write it as [{ name: lake, url: "s3://bucket/prefix" }]',
    ],
    [
      { ARROWGATE_ADMIN_KEY: '' },
      'ARROWGATE_ADMIN_KEY is wrong, but must be a text that is not empty',
    ],
    [
      { ARROWGATE_HOST: 'a', ARROWGATE_LISTEN_HOST: 'b' },
      'ARROWGATE_HOST and ARROWGATE_LISTEN_HOST are both set, to different values',
    ],
  ])('%j', async (environment, sentence) => {
    await expect(load('', environment)).rejects.toThrow(sentence);
  });

  it.each([
    [
      '\nlisten: { tls: { cert: a } }\n',
      'F:2: listen.tls.cert must be given together with listen.tls.key',
    ],
    [
      'listen: { tls: { key: a } }\n',
      'F:1: listen.tls.key must be given together with listen.tls.cert',
    ],
    [
      'listen: { tls: { client_ca: a } }\n',
      'F:1: listen.tls.client_ca asks for clients over TLS, which needs listen.tls.cert',
    ],
    [
      'listen: { port: 80, admin: { port: 80 } }\n',
      'F:1: listen.admin.port is 80, which is listen.port too',
    ],
  ])('%j', async (yaml, sentence) => {
    await expect(load(yaml)).rejects.toMatchObject({
      name: 'ConfigError',
      message: sentence.replace('F', file),
    });
  });

  it('also where a flag overrides the bad value', async () => {
    await expect(load('', { ARROWGATE_PORT: 'x' }, { 'listen.port': '1' })).rejects.toThrow(
      'ARROWGATE_PORT is "x"',
    );
  });

  it('when the named file is missing or cannot be read', () => {
    const values = new Map<ConfigPath, string>();
    expect(() => loadConfig({ config: file, values }, {})).toThrow(`${file} does not exist`);
    expect(() => loadConfig({ config: folder, values }, {})).toThrow(
      `${folder} cannot be read (EISDIR)`,
    );
  });
});

describe('the lines that refusals name', () => {
  it('are those of the keys', () => {
    const source = fileSource('a.yaml', 'data: x\nlimits:\n  page: 1\n  header: 2\n');
    expect([...source.values()].map((given) => given.where)).toEqual([
      'a.yaml:1: data',
      'a.yaml:3: limits.page',
      'a.yaml:4: limits.header',
    ]);
  });
});
