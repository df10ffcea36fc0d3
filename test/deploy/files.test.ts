import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../src/cli/config/config.ts';
import { configPaths, settings, variablesOf } from '../../src/cli/config/config-table.ts';
import { Networks } from '../../src/gateway/http/networks.ts';
import { capture } from '../support/captured-program.ts';

const root = new URL('../../', import.meta.url).pathname;
const port = settings['listen.port'].default;

function shipped(path: string): Promise<string> {
  return readFile(join(root, 'deploy', path), 'utf8');
}

/** Every variable that a process may be set up by. */
const variables = new Set(['ARROWGATE_CONFIG', ...configPaths.flatMap(variablesOf)]);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-deploy-'));
});

afterEach(() => rm(folder, { recursive: true }));

describe('the image', () => {
  it('is built from files that are there, and copies all of them past its ignore file', async () => {
    const lines = (await shipped('Dockerfile')).split('\n');
    const copied = lines
      .filter((line) => /^COPY (?!--from)/.test(line))
      .flatMap((line) => line.split(' ').slice(1, -1));
    const kept = (await shipped('Dockerfile.dockerignore'))
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(new Set(kept)).toEqual(new Set(copied));
  });

  it('runs as somebody who is not root, on variables that there are', async () => {
    const text = await shipped('Dockerfile');
    const last = text.slice(text.lastIndexOf('\nFROM '));
    expect(last).toMatch(/^USER 1000:1000$/m);
    const named = [...last.matchAll(/(ARROWGATE_[A-Z_]+)=(\S+)/g)];
    expect(named.map(([, name]) => name).filter((name) => !variables.has(name!))).toEqual([]);
    expect(last).toContain(`EXPOSE ${port}\n`);
  });

  it('holds all that the program needs, and its health check finds it', async () => {
    const text = await shipped('Dockerfile');
    const fromBuild = [...text.matchAll(/^COPY --from=build \/build\/(\S+) (\S+)$/gm)];
    for (const [, from] of fromBuild) {
      const source = join(root, from!);
      const target = join(folder, from!);
      if (from === 'node_modules') await symlink(source, target);
      else await cp(source, target, { recursive: true });
    }
    expect(fromBuild.map(([, from]) => from)).toEqual(['package.json', 'node_modules', 'dist']);
    const [, entry] = /^ENTRYPOINT (\[.*\])$/m.exec(text)!;
    const [, check] = /HEALTHCHECK [^\n]*\\\n\s+CMD (\[.*\])$/m.exec(text)!;
    const [program, ...args] = JSON.parse(entry!) as string[];
    expect(program).toBe('node');
    const healthy = (url: string) => {
      const [, script] = JSON.parse(check!) as string[];
      const flags = [join(root, 'deploy', basename(script!))];
      const env = { ...process.env, ARROWGATE_PORT: new URL(url).port };
      return spawnSync(process.execPath, flags, { env }).status;
    };
    const url = await capture([...args, 'serve'], {
      cwd: folder,
      env: {
        ARROWGATE_HOST: '0.0.0.0',
        ARROWGATE_PORT: '0',
        ARROWGATE_DATA: join(folder, 'data'),
        ARROWGATE_POLICIES: join(root, 'policies'),
      },
      work: async (served) => {
        expect(healthy(served)).toBe(0);
        return served;
      },
    });
    expect(healthy(url)).toBe(1);
  });
});

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { ipam: { config: { subnet: string }[] } }>>;
}

interface ComposeService {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly networks: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

describe('the compose file', () => {
  const read = async (): Promise<Compose> => parse(await shipped('compose.yaml'), { merge: true });

  it('has two gateways on a Redis that keeps what it acknowledged and a bucket, behind nginx', async () => {
    const { services } = await read();
    expect(Object.keys(services)).toEqual(['redis', 's3', 'gateway-1', 'gateway-2', 'nginx']);
    const [program, ...flags] = services['redis']!.command!;
    expect(program).toBe('redis-server');
    const pairs = Object.fromEntries(
      flags.flatMap((flag, at) => (at % 2 === 0 ? [[flag, flags[at + 1]]] : [])),
    );
    expect(pairs).toEqual({
      '--appendonly': 'yes',
      '--appendfsync': 'always',
      '--maxmemory-policy': 'noeviction',
    });
    const volumesOf = (name: string) =>
      services[name]!.volumes.filter((each) => !each.endsWith(':ro'));
    expect([volumesOf('gateway-1'), volumesOf('gateway-2')]).toEqual([
      ['gateway-1:/data'],
      ['gateway-2:/data'],
    ]);
  });

  it('names files, volumes, networks and services that there are', async () => {
    const { services, volumes, networks } = await read();
    for (const service of Object.values(services)) {
      const sources = service.volumes.map((volume) => volume.split(':')[0]!);
      const paths = sources.filter((source) => source.startsWith('.'));
      expect(paths.filter((path) => !existsSync(join(root, 'deploy', path)))).toEqual([]);
      const named = sources.filter((source) => !source.startsWith('.'));
      expect(named.filter((name) => !(name in volumes))).toEqual([]);
      expect(service.networks.filter((name) => !(name in networks))).toEqual([]);
      expect(Object.keys(service.depends_on ?? {}).filter((name) => !(name in services))).toEqual(
        [],
      );
      if (service.build === undefined) continue;
      expect(
        existsSync(join(root, 'deploy', service.build.context, service.build.dockerfile)),
      ).toBe(true);
    }
  });

  it('sets its gateways up by variables that there are, and a file that can be read', async () => {
    const { services, networks } = await read();
    const { environment = {} } = services['gateway-1']!;
    const config = parseConfig('arrowgate.yaml', await shipped('compose/arrowgate.yaml'));
    const [store] = config.object_stores;
    const credentials = `${store!.credentials_env}_`;
    const others = Object.keys(environment).filter(
      (name) => !variables.has(name) && !name.startsWith(credentials),
    );
    expect(others).toEqual([]);
    const hosts = [config['coordination.redis'], store!.endpoint].map(
      (url) => new URL(url!).hostname,
    );
    expect(hosts.filter((host) => !(host in services))).toEqual([]);
    expect(config.journal).toContain('lake');
    expect(new Networks(config.trusted_proxies).has('172.30.233.9')).toBe(true);
    expect(config.trusted_proxies).toEqual([networks['inside']!.ipam.config[0]!.subnet]);
    const mounted = services['gateway-1']!.volumes.map((volume) => volume.split(':')[1]);
    expect(mounted).toContain(environment['ARROWGATE_CONFIG']);
    const secret = environment[`${credentials}SECRET_ACCESS_KEY`];
    expect(services['s3']!.environment).toEqual({
      AWS_ACCESS_KEY_ID: environment[`${credentials}ACCESS_KEY_ID`],
      AWS_SECRET_ACCESS_KEY: secret,
    });
  });

  it('has an nginx that knows its gateways', async () => {
    const { services } = await read();
    const text = await shipped('nginx/gateways.conf');
    const servers = [...text.matchAll(/^\s+server (\S+):(\d+);$/gm)];
    expect(servers.map(([, host, at]) => [Object.hasOwn(services, host!), Number(at)])).toEqual([
      [true, port],
      [true, port],
    ]);
  });
});

describe('the unit', () => {
  it('is one that systemd understands, and is closed to almost everything', async () => {
    const text = await shipped('systemd/arrowgate.service');
    expect(text).toContain('ExecStart=/usr/bin/node /opt/arrowgate/dist/cli/main.js serve\n');
    const there = spawnSync('systemd-analyze', ['--version']).status === 0;
    if (!there) return;
    const path = join(folder, 'arrowgate.service');
    await writeFile(path, text.replace('/usr/bin/node', process.execPath));
    const verified = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
    expect([verified.status, verified.stderr]).toEqual([0, '']);
    // Out of 100; a unit that says nothing has 96.
    const flags = ['security', '--offline=true', '--threshold=20', path];
    expect(spawnSync('systemd-analyze', flags, { encoding: 'utf8' }).status).toBe(0);
  });

  it('has a configuration that can be read, in the folders that it may write', async () => {
    const text = await shipped('systemd/arrowgate.yaml');
    const config = parseConfig('arrowgate.yaml', text);
    expect(config['listen.port']).toBe(port);
    expect(new Networks(config.trusted_proxies).has('127.0.0.1')).toBe(true);
    const unit = await shipped('systemd/arrowgate.service');
    const [, state] = /^StateDirectory=(\S+)$/m.exec(unit)!;
    const [, configuration] = /^ConfigurationDirectory=(\S+)$/m.exec(unit)!;
    expect(config.data).toBe(`/var/lib/${state}`);
    expect(dirname(config.policies)).toBe(`/etc/${configuration}`);
    expect(unit).toContain(`ARROWGATE_CONFIG=/etc/${configuration}/arrowgate.yaml\n`);
  });
});

/** The headers that a decision is made of, and those that a client may be told. */
const NEEDED = ['authorization', 'x-api-key', 'user-agent', 'x-service-ctx-', 'x-lance-ctx-'];

interface Matcher {
  readonly exact?: string;
  readonly prefix?: string;
}

describe('the example of Traefik', () => {
  it('asks at /authorize, believes no client, and ends its credentials', async () => {
    const { http } = parse(await shipped('traefik/dynamic.yaml'));
    const { arrowgate, 'credentials-end-here': ended } = http.middlewares;
    expect(arrowgate.forwardAuth).toEqual({
      address: `http://127.0.0.1:${port}/authorize`,
      trustForwardHeader: false,
      authResponseHeaders: ['X-Arrowgate-Subject', 'X-Arrowgate-Decision-Id'],
    });
    expect(ended.headers.customRequestHeaders).toMatchObject({
      Authorization: '',
      'X-Api-Key': '',
    });
    const { catalog } = http.routers;
    expect(catalog.middlewares.every((name: string) => name in http.middlewares)).toBe(true);
    expect(catalog.service in http.services).toBe(true);
  });
});

describe('the example of Envoy', () => {
  it('asks below /authorize with all that decides, and refuses when nobody answers', async () => {
    const { static_resources: all } = parse(await shipped('envoy/envoy.yaml'));
    const manager = all.listeners[0].filter_chains[0].filters[0].typed_config;
    expect(manager).toMatchObject({ normalize_path: false, merge_slashes: false });
    const [auth, closedList, router] = manager.http_filters;
    expect([auth.name, closedList.name, router.name]).toEqual([
      'envoy.filters.http.ext_authz',
      'envoy.filters.http.lua',
      'envoy.filters.http.router',
    ]);
    const { http_service: service, failure_mode_allow: open, allowed_headers } = auth.typed_config;
    expect([open, service.path_prefix]).toEqual([false, '/authorize']);
    const patterns: readonly Matcher[] = allowed_headers.patterns;
    const given = patterns.map(({ exact, prefix }) => exact ?? prefix);
    expect(NEEDED.filter((name) => !given.includes(name))).toEqual([]);
    expect(given).not.toContain('x-forwarded-uri');
    const clusters: readonly { readonly name: string }[] = all.clusters;
    expect(clusters.map(({ name }) => name)).toContain(service.server_uri.cluster);
    expect(service.server_uri.uri).toBe(`http://127.0.0.1:${port}`);
    const [route] = manager.route_config.virtual_hosts[0].routes;
    expect(route.request_headers_to_remove).toEqual(['authorization', 'x-api-key']);
  });
});
