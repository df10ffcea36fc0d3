import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRedisStore } from '../../src/store/redis/store.ts';
import type { Store } from '../../src/store/store.ts';
import { storeSuite } from '../conformance/store.ts';
import { eventually } from '../support/eventually.ts';
import { DURABLE, RedisServer } from '../support/redis-server.ts';
import { freshRedisStore } from '../support/redis-store.ts';

describe('a cluster', () => {
  let node: RedisServer;

  beforeAll(async () => {
    node = await RedisServer.start([
      ...DURABLE,
      '--cluster-enabled',
      'yes',
      '--cluster-announce-ip',
      '127.0.0.1',
    ]);
    await node.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    for (;;) {
      const info = String(await node.command('CLUSTER', 'INFO'));
      if (info.includes('cluster_state:ok')) break;
      await sleep(50);
    }
  });

  afterAll(() => node.stop());

  storeSuite('the Redis store on a cluster', () =>
    freshRedisStore(`redis+cluster://127.0.0.1:${node.port}`),
  );

  it('is asked for its weakness on every master', async () => {
    const under = await freshRedisStore(`redis+cluster://127.0.0.1:${node.port}`);
    const { store } = under;
    expect(await store.weakness()).toBeUndefined();
    await node.command('CONFIG', 'SET', 'appendfsync', 'no');
    expect(await store.weakness()).toMatch(/appendfsync no/);
    await under.close();
  });
});

describe('sentinels', () => {
  it('name the new master after the old one died', async () => {
    const first = await RedisServer.start([...DURABLE, '--repl-diskless-sync-delay', '0']);
    const second = await RedisServer.start([...DURABLE, '--replicaof', `127.0.0.1 ${first.port}`]);
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-sentinel-'));
    const file = join(folder, 'sentinel.conf');
    await writeFile(file, sentinelConfig(first.port));
    const sentinel = await RedisServer.start([file, '--sentinel']);
    const url = `redis+sentinel://127.0.0.1:${sentinel.port}/main`;
    const store = await openRedisStore({ url, catalog: 'c' });
    expect((await put(store, 'a')).kind).toBe('committed');
    // Redis answers before its replicas have a change: only `WAIT` says that they do.
    await eventually(async () => expect(await first.command('WAIT', '1', '100')).toBe(1));
    await first.kill();
    await eventually(async () => expect((await put(store, 'b')).kind).toBe('committed'));
    expect(await store.getMany(['a', 'b'])).toEqual([expect.anything(), expect.anything()]);
    await store.close();
    for (const each of [sentinel, second, first]) await each.stop();
    await rm(folder, { recursive: true });
  });
});

describe('TLS', () => {
  it('is spoken with a server whose authority is trusted, and with no other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-tls-'));
    const { key, cert } = await selfSigned(folder);
    const files = ['--tls-key-file', key, '--tls-cert-file', cert, '--tls-ca-cert-file', cert];
    const server = await RedisServer.start([
      '--port',
      '0',
      '--tls-port',
      'PORT',
      '--tls-auth-clients',
      'no',
      ...files,
      '--requirepass',
      'a word',
      ...DURABLE,
    ]);
    const address = `rediss://:a%20word@127.0.0.1:${server.port}`;
    const store = await openRedisStore({ url: `${address}?ca=${cert}`, catalog: 'c' });
    expect((await put(store, 'a')).kind).toBe('committed');
    const stranger = await openRedisStore({ url: address, catalog: 'c' });
    await expect(stranger.get('a')).rejects.toMatchObject({ kind: 'unavailable' });
    await stranger.close();
    await store.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });
});

function put(store: Store, key: string) {
  return store.commit([], [{ key, value: Buffer.from('x') }]);
}

function sentinelConfig(port: number): string {
  return `sentinel monitor main 127.0.0.1 ${port} 1
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 2000
`;
}

async function selfSigned(folder: string): Promise<{ key: string; cert: string }> {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await promisify(execFile)('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
    '-days',
    '2',
    ...subject,
  ]);
  return { key, cert };
}
