import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { ARROW_STREAM, send } from '../service/http.ts';
import { goodRows } from '../service/table-bodies.ts';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { root } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { hasHelm, rendered } from '../support/helm.ts';
import { Pod, podOf, workloadOf } from '../support/pod.ts';
import { RedisServer } from '../support/redis-server.ts';

const MAIN = join(root, 'dist/cli/main.js');
const newFolder = testFolders();
const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

/** A gateway of the StatefulSet: its pod, and the process in it. */
class Gateway {
  readonly #folder: string;
  readonly #pod: Pod;
  #child: ChildProcess | undefined;
  url = '';

  constructor(folder: string, pod: Pod) {
    this.#folder = folder;
    this.#pod = pod;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0'], {
      cwd: this.#folder,
      env: await this.#variables(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      this.url = `http://127.0.0.1:${new URL(String(JSON.parse(line).url)).port}`;
      return;
    }
    throw new Error('the gateway ended before it served');
  }

  /** Ends as a pod does that is replaced. @returns The exit code. */
  async end(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return null;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    return (await exit)[0] as number | null;
  }

  /** What a command prints that is run in the pod. */
  async command(...words: readonly string[]): Promise<string> {
    const env = await this.#variables();
    const child = spawn(process.execPath, [MAIN, ...words], { cwd: this.#folder, env });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    await once(child, 'close');
    return Buffer.concat(parts).toString();
  }

  /** The instances of its own audit log. */
  instances(): Promise<readonly string[]> {
    return readdir(this.#pod.at('/data/private/audit'));
  }

  /** Its administrator key, if it made the first one. */
  firstKey(): Promise<string | undefined> {
    return readFile(this.#pod.at('/data/private/initial-admin-key'), 'utf8').then(
      (text) => text.trim(),
      () => undefined,
    );
  }

  async #variables(): Promise<Record<string, string | undefined>> {
    const own = this.#pod.variables();
    return { ...process.env, ...own, ARROWGATE_LISTEN_ADMIN_PORT: String(await freePort()) };
  }
}

/** Starts Redis and a bucket, and lays out the pods of the chart on them. */
async function stateful(): Promise<readonly Gateway[]> {
  const redis = await RedisServer.start();
  ended.push(() => redis.stop());
  const server = await BucketServer.start('seaweedfs');
  ended.push(() => server.stop());
  const { id, secret } = BUCKET_CREDENTIALS;
  const url = `s3://${server.bucket}/arrowgate`;
  const store = { name: 'lake', url, endpoint: server.endpoint, path_style: true };
  const manifests = rendered({
    policy: { configMap: 'policies' },
    replicas: 2,
    redis: { urlSecret: { name: 'redis' } },
    journal: 'lake:/catalog',
    keys: { sharedSecret: { name: 'keys' } },
    env: [
      { name: 'LAKE_ACCESS_KEY_ID', value: id },
      {
        name: 'LAKE_SECRET_ACCESS_KEY',
        valueFrom: { secretKeyRef: { name: 'lake', key: 'secret' } },
      },
    ],
    config: {
      object_stores: [{ ...store, credentials_env: 'LAKE' }],
      audit: { archive: 'lake:/audit' },
      locations: { managed: 'lake:/lance' },
      tables: { format: 'lance' },
    },
    shutdown: { delaySeconds: 0, graceSeconds: 5 },
  });
  const files = async (name: string): Promise<string> =>
    readFile(join(root, 'policies', name), 'utf8');
  const maps = manifests.filter(({ kind }) => kind === 'ConfigMap');
  const objects = {
    ...Object.fromEntries(maps.map((map) => [map.metadata.name, map.data ?? {}])),
    policies: {
      'model.conf': await files('model.conf'),
      'policy.csv': await files('policy.csv'),
    },
    redis: { url: redis.url },
    lake: { secret },
    keys: { 'key-secret': randomBytes(32).toString('base64url') },
  };
  const spec = podOf(manifests);
  const gateways: Gateway[] = [];
  for (let at = 0; at < workloadOf(manifests).replicas; at++) {
    const folder = await newFolder();
    const pod = new Pod(folder, spec, objects);
    await pod.mount();
    const gateway = new Gateway(folder, pod);
    ended.push(() => gateway.end());
    gateways.push(gateway);
  }
  return gateways;
}

describe.runIf(hasHelm && hasBuckets)(
  'the StatefulSet of the chart (needs helm and Python)',
  () => {
    it('is gateways that start at once on an empty catalog, and are replaced one by one', async () => {
      const gateways = await stateful();
      await Promise.all(gateways.map((gateway) => gateway.start()));
      const made = await Promise.all(gateways.map((gateway) => gateway.firstKey()));
      const [key = '', ...others] = made.filter((each) => each !== undefined);
      expect(others).toEqual([]);
      const rows = { body: goodRows, headers: ARROW_STREAM, key };
      expect((await send(gateways[0]!.url, 'POST /v1/table/t/create', rows)).status).toBe(200);
      const counted = async (gateway: Gateway): Promise<unknown> => {
        const { status, text } = await send(gateway.url, 'POST /v1/table/t/count_rows', {
          body: {},
          key,
        });
        return [status, text];
      };
      for (const gateway of gateways.toReversed()) {
        const before = await gateway.instances();
        expect(await gateway.end()).toBe(0);
        for (const other of gateways)
          if (other !== gateway) expect(await counted(other)).toEqual([200, '3']);
        await gateway.start();
        expect(await counted(gateway)).toEqual([200, '3']);
        expect(await gateway.instances()).toEqual(expect.arrayContaining([...before]));
      }
      await eventually(async () => {
        const found = await gateways[1]!.command(
          'audit',
          'search',
          '--operation',
          'CreateTable',
          '--json',
        );
        expect(found).toContain('"CreateTable"');
      });
    });
  },
);
