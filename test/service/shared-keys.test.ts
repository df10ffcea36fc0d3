import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bucketLimits } from '../../src/storage/bucket/bucket-calls.ts';
import { openRedisStore } from '../../src/store/redis/store.ts';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { casesOf } from '../support/cases.ts';
import { eventually } from '../support/eventually.ts';
import { startSentinels } from '../support/redis-group.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service, type Printed } from '../support/service.ts';
import { send } from './http.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };

/** How long the bucket does not answer a move of keys: in the long form, longer than a call waits for it. */
const STALL_MILLIS =
  process.env['ARROWGATE_TEST_BUCKETS'] === 'all' ? bucketLimits.deadline + 8000 : 1000;

const secretOf = ({ data }: Service): string => join(data, 'private', 'key-secret');
const idOf = (key: string): string => key.split('_')[1]!;

/** The answer to a request with a key: 200 where it is accepted, 401 where it is not. */
async function statusWith({ url }: Service, key: string): Promise<number> {
  const { status } = await send(url, 'GET /v1/namespace/$/list', { key });
  return status;
}

async function succeeded(printed: Promise<Printed>): Promise<string> {
  const { code, out, err } = await printed;
  expect([code, err]).toEqual([0, '']);
  return out;
}

interface Listed {
  readonly id: string;
  readonly subject: string;
  readonly state: string;
  readonly last_used: string | null;
}

/** The keys in force at a gateway, by its copy: their ids, and whether they are revoked. */
async function inForce({ data }: Service): Promise<ReadonlyMap<string, boolean>> {
  const text = await readFile(join(data, 'private', 'keys.json'), 'utf8');
  const { keys } = JSON.parse(text) as { keys: { id: string; revoked: string | null }[] };
  return new Map(keys.map(({ id, revoked }) => [id, revoked !== null]));
}

async function listed(service: Service): Promise<readonly Listed[]> {
  return JSON.parse(await succeeded(service.command('keys', 'list', '--json'))) as Listed[];
}

describe.runIf(hasBuckets)(
  'API keys of two gateways that share nothing but Redis and a bucket',
  () => {
    let server: BucketServer;
    let redis: RedisServer;
    let a: Service;
    let b: Service;

    function config(): string {
      const url = `s3://${server.bucket}/keys`;
      const store = { name: 'lake', url, endpoint: server.endpoint, path_style: true };
      return stringify({
        coordination: { redis: redis.url },
        object_stores: [{ ...store, credentials_env: 'LAKE' }],
        journal: 'lake:/catalog',
        locations: { managed: 'lake:/lance' },
      });
    }

    /** Keys of a gateway before they were shared. */
    let older: string;

    beforeAll(async () => {
      server = await BucketServer.start('seaweedfs');
      redis = await RedisServer.start();
      a = await Service.start({ config: config(), variables, adminKey: false });
      older = await a.keyByCommand('older', 'admin');
      expect(await a.command('keys', 'move')).toMatchObject({
        code: 2,
        err: expect.stringContaining('a gateway runs on'),
      });
      await a.end();
      // As on a busy machine.
      server.pause();
      const moving = succeeded(a.command('keys', 'move', '--json'));
      await sleep(STALL_MILLIS);
      server.resume();
      expect(JSON.parse(await moving)).toEqual({ moved: 2, secret: secretOf(a) });
      await a.restart();
      b = await Service.prepare({ config: config(), variables, adminKey: false });
    });

    afterAll(async () => {
      await b.stop();
      await a.stop();
      await redis.stop();
      await server.stop();
    });

    it('need the secret at every gateway', async () => {
      const sentence = `copy private/key-secret of another gateway to ${secretOf(b)} (mode 0600)`;
      await expect(b.restart()).rejects.toThrow(sentence);
      expect(await b.command('keys', 'create', '--subject', 'eve')).toMatchObject({
        code: 2,
        err: expect.stringContaining(sentence),
      });
      await mkdir(dirname(secretOf(b)), { recursive: true, mode: 0o700 });
      await copyFile(secretOf(a), secretOf(b));
      await b.restart();
      expect(await statusWith(b, older)).toBe(200);
      const first = await readFile(join(a.data, 'private', 'initial-admin-key'), 'utf8');
      expect(await statusWith(b, first.trim())).toBe(200);
    });

    it('are made, rotated and revoked at either, and are in force at both', async () => {
      const key = await a.keyByCommand('ann', 'admin');
      await eventually(async () => expect(await statusWith(b, key)).toBe(200));
      const [id, json] = [idOf(key), '--json'];
      const out = await succeeded(b.command('keys', 'rotate', id, '--overlap', '1h', json));
      const { key: next } = JSON.parse(out) as { readonly key: string };
      await eventually(async () => expect(await statusWith(a, next)).toBe(200));
      expect(await statusWith(a, key)).toBe(200);
      await succeeded(b.command('keys', 'revoke', id));
      await eventually(async () => expect(await statusWith(a, key)).toBe(401));
      expect(await a.command('keys', 'revoke', id)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`the key ${id} is revoked already`),
      });
    });

    it('are changed by the console of either', async () => {
      const headers = { 'content-type': 'application/json' };
      const made = await send(b.url, 'POST /console/api/keys/create', {
        headers,
        key: older,
        body: { subject: 'cleo', roles: ['admin'] },
      });
      expect(made.status).toBe(200);
      const key = String(made.json['key']);
      await eventually(async () => expect(await statusWith(a, key)).toBe(200));
      const body = { id: idOf(key) };
      expect(
        (await send(a.url, 'POST /console/api/keys/revoke', { headers, key: older, body })).status,
      ).toBe(200);
      await eventually(async () => expect(await statusWith(b, key)).toBe(401));
    });

    it('show at either when they were used at the other', async () => {
      const key = await b.keyByCommand('dora', 'admin');
      expect(await statusWith(b, key)).toBe(200);
      await eventually(async () => {
        const found = (await listed(a)).find(({ id }) => id === idOf(key));
        expect(found).toMatchObject({ subject: 'user:dora', state: 'active' });
        expect(found?.last_used).not.toBeNull();
      });
    });

    it('report what somebody else wrote into Redis, and do not believe it', async () => {
      const key = await a.keyByCommand('fay', 'admin');
      await eventually(async () => expect(await statusWith(b, key)).toBe(200));
      const store = await openRedisStore({ url: redis.url, catalog: 'default' });
      const entry = await store.get(`K/${idOf(key)}`);
      await succeeded(a.command('keys', 'revoke', idOf(key)));
      await store.commit([], [{ key: `K/${idOf(key)}`, value: entry! }]);
      const text = Buffer.from(entry!).toString().replace(idOf(key), 'mallory00000');
      await store.commit([], [{ key: 'K/mallory00000', value: Buffer.from(text) }]);
      await eventually(async () => {
        const reports = await Promise.all(
          [a, b].map(async ({ url }) => (await send(url, 'GET /readyz', { key: older })).text),
        );
        expect(reports.join()).toContain('the known keys stay in force');
        const metrics = await Promise.all(
          [a, b].map(async ({ url }) => (await send(url, 'GET /metrics', { key: older })).text),
        );
        expect(metrics.join()).toContain('arrowgate_key_faults_total{kind="forged"}');
      });
      expect(`${a.errors}${b.errors}`).toContain(
        'the API key mallory00000 was not written by a gateway of this catalog',
      );
      await eventually(async () => expect(await store.get('K/mallory00000')).toBeUndefined());
      await store.close();
      for (const one of [a, b]) {
        await eventually(async () => expect(await statusWith(one, key)).toBe(401));
      }
    });

    it('come back with the catalog after Redis lost everything', async () => {
      const [kept, ended] = [older, await b.keyByCommand('hal', 'admin')];
      await succeeded(b.command('keys', 'revoke', idOf(ended)));
      await eventually(async () => expect((await inForce(a)).get(idOf(ended))).toBe(true));
      const before = await inForce(a);
      await redis.command('FLUSHALL');
      expect(await a.command('keys', 'create', '--subject', 'eve')).toMatchObject({
        code: 2,
        err: expect.stringContaining("the store does not carry this catalog's id"),
      });
      await succeeded(b.command('catalog', 'rebuild'));
      await eventually(async () => expect(await statusWith(a, kept)).toBe(200));
      await eventually(async () => expect(await statusWith(b, kept)).toBe(200));
      for (const one of [a, b]) {
        await eventually(async () => expect(await statusWith(one, ended)).toBe(401));
      }
      const after = new Map((await listed(b)).map(({ id, state }) => [id, state === 'revoked']));
      expect(after).toEqual(before);
      expect(await a.command('catalog', 'verify')).toMatchObject({ code: 0 });
    });

    it('stay whole when commands that change them are killed', async () => {
      for (let at = 0; at < casesOf(1, 20); at++) {
        const key = await a.keyByCommand(`k${at}`, 'admin');
        await eventually(async () => expect(await statusWith(b, key)).toBe(200));
        const kill = new AbortController();
        const ending = b.commandUntil(kill.signal, 'keys', 'revoke', idOf(key));
        const timer = setTimeout(() => kill.abort(), Math.random() * 2000);
        const { code } = await ending;
        clearTimeout(timer);
        if (code === 0) await eventually(async () => expect(await statusWith(a, key)).toBe(401));
        await eventually(async () => expect(await inForce(a)).toEqual(await inForce(b)));
      }
      expect(await b.command('catalog', 'verify')).toMatchObject({ code: 0 });
    });
  },
);

describe('API keys of two gateways with one folder and Redis', () => {
  it('stay revoked when a replica takes over that never heard of it', async () => {
    const group = await startSentinels();
    const config = stringify({ coordination: { redis: group.url } });
    const a = await Service.prepare({ config, adminKey: false });
    const key = await a.keyByCommand('ann', 'admin');
    await succeeded(a.command('keys', 'move'));
    await a.restart();
    const b = await Service.beside(a, { adminKey: false });
    expect(await statusWith(b, key)).toBe(200);
    const lost = await group.failOver(async () => {
      await succeeded(a.command('keys', 'revoke', idOf(key)));
    });
    expect(lost).toBeGreaterThan(0);
    await eventually(async () => {
      expect((await inForce(a)).get(idOf(key))).toBe(true);
    });
    for (const one of [a, b]) {
      await eventually(async () => expect(await statusWith(one, key)).toBe(401));
    }
    const next = await b.keyByCommand('ben', 'admin');
    await eventually(async () => expect(await statusWith(a, next)).toBe(200));
    const backup = join(a.folder, 'backup');
    await succeeded(a.command('catalog', 'backup', backup));
    await b.end();
    await a.end();
    const copied = await Service.start({ flags: ['--data', backup], adminKey: false });
    expect(await statusWith(copied, next)).toBe(200);
    expect(await statusWith(copied, key)).toBe(401);
    await copied.stop();
    await rm(backup, { recursive: true });
    await a.stop();
    await group.stop();
  });

  it('are shared from the first one on where the configuration names a secret', async () => {
    const redis = await RedisServer.start();
    const a = await Service.prepare({ adminKey: false });
    const path = join(a.folder, 'secret');
    const config = { coordination: { redis: redis.url }, keys: { secret_file: path } };
    await a.configure(stringify(config));
    await expect(a.restart()).rejects.toThrow(`keys.secret_file names ${path}, which is not there`);
    await writeFile(path, `${randomBytes(32).toString('base64url')}\n`);
    await a.restart();
    const key = await readFile(join(a.data, 'private', 'initial-admin-key'), 'utf8');
    expect(await statusWith(a, key.trim())).toBe(200);
    expect(await inForce(a)).toEqual(new Map([[idOf(key), false]]));
    await redis.kill();
    await eventually(async () => {
      const { json } = await send(a.url, 'GET /readyz', { key: key.trim() });
      expect(JSON.stringify(json)).toContain('"part":"keys","status":"degraded"');
    });
    // It accepts the keys that it knows for a while; one that starts knows none for certain.
    await a.end();
    await a.restart();
    const refused = await send(a.url, 'GET /metrics', { key: key.trim() });
    expect([refused.status, refused.text]).toEqual([
      503,
      expect.stringContaining('API keys cannot be compared with those of the catalog'),
    ]);
    await a.stop();
    await redis.stop();
  });
});
