import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { goodRows } from '../service/table-bodies.ts';
import { ARROW_STREAM, send } from '../service/http.ts';
import { hasBuckets } from '../support/bucket-server.ts';
import { pythonWithBuckets } from '../support/client-packages.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';

const newFolder = testFolders();
const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

function shipped(path: string): Promise<string> {
  return readFile(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');
}

interface Compose {
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly services: Readonly<Record<string, ComposeService>>;
}

interface ComposeService {
  readonly secrets?: readonly string[];
  readonly command: readonly string[];
  readonly entrypoint: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The value of each variable: a secret that is to be chosen is this one. */
const valuesOf = ({ environment }: ComposeService): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/^\$\{.*\}$/, 'a-secret-that-was-chosen'),
    ]),
  );

/** Runs the command of the object store, on ports of its own. Gives its address. */
async function startStore(store: ComposeService): Promise<string> {
  const folder = await newFolder();
  const port = await freePort();
  const [program = '', ...flags] = [...store.entrypoint, ...store.command];
  const path = join(dirname(await pythonWithBuckets()), program);
  const others = ['master', 'volume', 'filer', 'webdav', 'admin'];
  const ports = await Promise.all(others.map(async (part) => `-${part}.port=${await freePort()}`));
  const own = flags.map((flag) =>
    flag.replace('/data', folder).replace('-ip=s3', '-ip=127.0.0.1').replace(/8333$/, String(port)),
  );
  const child = spawn(path, [...own, ...ports], {
    stdio: 'ignore',
    cwd: folder,
    env: { ...process.env, ...valuesOf(store) },
  });
  ended.push(async () => {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await eventually(async () => expect((await fetch(`${endpoint}/healthz`)).status).toBe(200));
  return endpoint;
}

it.runIf(hasBuckets)(
  'the compose file starts two gateways with one catalog, by the commands and files that it names',
  async () => {
    const { services, secrets }: Compose = parse(await shipped('compose.yaml'), { merge: true });
    const endpoint = await startStore(services['s3']!);
    const redis = await RedisServer.start(services['redis']!.command.slice(1));
    ended.push(() => redis.stop());
    const config = parse(await shipped('compose/arrowgate.yaml'));
    config.coordination.redis = redis.url;
    config.object_stores[0].endpoint = endpoint;
    const gateway = services['gateway-1']!;
    const [name = ''] = gateway.secrets ?? [];
    expect(secrets).toHaveProperty([name, 'file']);
    expect(config.keys.secret_file).toBe(`/run/secrets/${name}`);
    config.keys.secret_file = join(await newFolder(), name);
    await writeFile(config.keys.secret_file, randomBytes(32).toString('base64url'));
    const { ARROWGATE_CONFIG: _, ...variables } = valuesOf(gateway);
    const gateways: Service[] = [];
    for (let count = 0; count < 2; count++) {
      const service = await Service.start({
        config: stringify(config),
        variables,
        adminKey: false,
      });
      ended.push(() => service.stop());
      gateways.push(service);
    }
    const [one, two] = gateways;
    const key = variables['ARROWGATE_ADMIN_KEY']!;
    const rows = { body: goodRows, headers: ARROW_STREAM, key };
    expect((await send(one!.url, 'POST /v1/table/t/create', rows)).status).toBe(200);
    const counted = await send(two!.url, 'POST /v1/table/t/count_rows', { body: {}, key });
    expect([counted.status, counted.text]).toEqual([200, '3']);
    const made = await one!.keyByCommand('ann', 'admin');
    await eventually(async () => {
      const { status } = await send(two!.url, 'POST /v1/table/t/count_rows', {
        body: {},
        key: made,
      });
      expect(status).toBe(200);
    });
    await eventually(async () => {
      const { out } = await two!.command('audit', 'search', '--operation', 'CreateTable', '--json');
      expect(out).toContain('"CreateTable"');
    });
  },
);
