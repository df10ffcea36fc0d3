import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BucketStorage } from '../../src/storage/bucket/bucket-storage.ts';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };

/** The outage of a bucket takes a minute: commands wait for it until their deadlines. */
const isLong = process.env['ARROWGATE_TEST_BUCKETS'] === 'all';

describe.runIf(hasBuckets)('the audit logs of two gateways that share no folder', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  let redis: RedisServer;
  let storage: BucketStorage;
  let a: Service;
  let b: Service;

  function gateway(): Promise<Service> {
    const url = `s3://${server.bucket}/archived`;
    const store = { name: 'lake', url, endpoint: proxy.url, path_style: true };
    const config = stringify({
      coordination: { redis: redis.url },
      object_stores: [{ ...store, credentials_env: 'LAKE' }],
      journal: 'lake:/catalog',
      audit: { archive: 'lake:/audit' },
    });
    return Service.start({ config, variables });
  }

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    proxy = await FaultyProxy.before(server.endpoint);
    redis = await RedisServer.start();
    storage = new BucketStorage(server.place({ prefix: 'archived' }), { spill: '/tmp' });
    a = await gateway();
    b = await gateway();
  });

  afterAll(async () => {
    await b.stop();
    await a.stop();
    storage.close();
    await redis.stop();
    await proxy.close();
    await server.stop();
  });

  /** A request with an id of its own. */
  const ask = async ({ url }: Service, id: string): Promise<void> => {
    const headers = { 'x-request-id': id };
    expect((await send(url, 'GET /v1/namespace/$/list', { headers })).status).toBe(200);
  };

  /** Ids of the requests that a search finds. */
  const search = async (service: Service, text: string): Promise<readonly unknown[]> => {
    const { out } = await service.command('audit', 'search', '--json', '--text', text);
    const lines = out.split('\n').filter((line) => line !== '');
    return lines.map((line) => (JSON.parse(line) as { request_id: string }).request_id).sort();
  };

  const objects = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { path } of storage.tree('/audit')) found.push(path);
    return found.filter((path) => path.endsWith('.jsonl'));
  };

  it('are found by the other one', async () => {
    await ask(a, 'of-a-first');
    await ask(b, 'of-b-first');
    await eventually(async () => {
      expect(await search(b, 'of-a-first')).toEqual(['of-a-first']);
    });
    await eventually(async () => {
      expect(await search(a, 'of-b-first')).toEqual(['of-b-first']);
    });
    const { code, out } = await b.command('audit', 'show', 'of-a-first');
    expect(code).toBe(0);
    // The text of the deciding line comes from the archived policy.
    expect(out).toMatch(/^line +p, /m);
    const report = await b.command('audit', 'report', '--by', 'operation', '--json');
    expect(JSON.parse(report.out)).toContainEqual(
      expect.objectContaining({ operation: 'ListNamespaces' }),
    );
  });

  it('are rows of system$audit', async () => {
    const count = async (service: Service, id: string): Promise<string> => {
      const body = { predicate: `request_id = '${id}'` };
      const reply = await send(service.url, 'POST /v1/table/system$audit/count_rows', { body });
      return reply.text;
    };
    await eventually(async () => expect(await count(b, 'of-a-first')).toBe('2'));
    expect(await count(a, 'of-b-first')).toBe('2');
  });

  it('verify together', async () => {
    await eventually(async () => {
      const { code, out } = await b.command('audit', 'verify');
      expect([code, out]).toEqual([0, expect.stringContaining('nothing is wrong')]);
      expect(out).toMatch(/^checkpoints: [1-9]\d* in the archive$/m);
      expect(out).toContain('published in the audit archive');
    });
  });

  it.runIf(isLong)(
    'say in /readyz, metrics and searches that the bucket is away, and catch up',
    async () => {
      proxy.fate = ({ url = '' }) => (url.includes('audit') ? 'error' : undefined);
      await ask(a, 'while-away');
      await eventually(async () => {
        const { status, json } = await send(a.url, 'GET /readyz');
        expect([status, json['status']]).toEqual([200, 'degraded']);
        expect(JSON.stringify(json)).toMatch(
          /the audit records of the last \d+ s are not in the archive lake:\/audit: /,
        );
      });
      const { text } = await send(a.url, 'GET /metrics');
      expect(Number(/^arrowgate_audit_archive_lag_seconds (.+)$/m.exec(text)?.[1])).toBeGreaterThan(
        10,
      );
      const { code, err } = await b.command('audit', 'search', '--text', 'of-b-first', '--json');
      expect(code).toBe(1);
      expect(err).toContain('the records of other gateways may be missing');
      const verified = await b.command('audit', 'verify');
      expect([verified.code, verified.out]).toEqual([1, expect.stringContaining('not asked')]);
      const body = { predicate: 'status = 500' };
      const rows = await send(b.url, 'POST /v1/table/system$audit/count_rows', { body });
      expect([rows.status, rows.json['code']]).toEqual([503, 17]);
      expect(await search(a, 'while-away')).toEqual(['while-away']);
      proxy.fate = () => undefined;
      await eventually(async () => {
        expect(await search(b, 'while-away')).toEqual(['while-away']);
      });
      await eventually(async () => {
        expect(JSON.stringify((await send(a.url, 'GET /readyz')).json)).not.toContain('archive');
      });
    },
  );

  it('outlive their gateway and its folder', async () => {
    await ask(a, 'the-last');
    await eventually(async () => {
      expect(await search(b, 'the-last')).toEqual(['the-last']);
    });
    await a.end('SIGKILL');
    await rm(a.data, { recursive: true });
    expect(await search(b, 'of-a-first')).toEqual(['of-a-first']);
    expect(await search(b, 'the-last')).toEqual(['the-last']);
    await eventually(async () => {
      const { code, out } = await b.command('audit', 'verify');
      expect([code, out]).toEqual([0, expect.stringContaining('nothing is wrong')]);
    });
  });

  /** The object with the lines of a request, and its text. */
  const objectWith = async (id: string): Promise<readonly [string, string]> => {
    for (const path of await objects()) {
      const text = (await storage.read(path)).toString();
      if (text.includes(id)) return [path, text];
    }
    throw new Error(`no object has ${id}`);
  };

  it('are compared with the copy of the own log, which is read where a file is gone', async () => {
    await b.end();
    await b.restart();
    const verified = () => b.command('audit', 'verify');
    await eventually(async () => {
      const { code, out } = await verified();
      expect([code, out]).toEqual([0, expect.stringContaining('nothing is wrong')]);
      expect(out).toMatch(/^read: [1-9]\d* instances in the archive lake:\/audit$/m);
      expect(out).not.toContain('are not in the archive');
    });
    const [path, text] = await objectWith('of-b-first');
    await storage.replace(path, Buffer.from(text.replace('of-b-first', 'of-b-other')));
    const edited = await verified();
    expect([edited.code, edited.out]).toEqual([1, expect.stringMatching(/^archive:.*: edited: /m)]);
    await storage.replace(path, Buffer.from(text));
    const folder = join(b.data, 'private/audit');
    for (const name of await readdir(folder, { recursive: true })) {
      if (!name.endsWith('.jsonl')) continue;
      const lines = await readFile(join(folder, name), 'utf8');
      if (lines.includes('of-b-first')) await rm(join(folder, name));
    }
    const { code, out } = await verified();
    expect([code, out]).toEqual([0, expect.stringContaining('nothing is wrong')]);
    expect(out).toContain('in the data folder: the archive has the records, which were read there');
    await storage.replace(path, Buffer.from(text.replace('of-b-first', 'of-b-other')));
    expect((await verified()).code).toBe(1);
  });

  it('show tampering with an object', async () => {
    const own = await readFile(join(b.data, 'private/audit-signing-key.pem'), 'utf8');
    const all = await objects();
    for (const path of all) expect((await storage.read(path)).toString()).not.toContain(own);
    const [path, text] = await objectWith('of-a-first');
    await storage.replace(path, Buffer.from(text.replace('of-a-first', 'of-a-other')));
    const edited = await b.command('audit', 'verify');
    expect([edited.code, edited.out]).toEqual([1, expect.stringContaining('edited')]);
  });
});
