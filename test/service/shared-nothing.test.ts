import { rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service, type Printed } from '../support/service.ts';
import { ARROW_STREAM, send, type Reply } from './http.ts';
import { goodRows } from './table-bodies.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };

const COUNT = '3';
const FORMATS = [{ tables: ['/lance'], format: 'lance' }];

describe.runIf(hasBuckets)('two gateways that share nothing but Redis and a bucket', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  let redis: RedisServer;
  let a: Service;
  let b: Service;

  /** A gateway on a data folder of its own. */
  function gateway(more: object = {}): Promise<Service> {
    return Service.start({ config: configOf(more), variables });
  }

  function configOf(more: object): string {
    const url = `s3://${server.bucket}/shared`;
    const store = { name: 'lake', url, endpoint: proxy.url, path_style: true };
    return stringify({
      coordination: { redis: redis.url },
      object_stores: [{ ...store, credentials_env: 'LAKE' }],
      journal: 'lake:/catalog',
      locations: { managed: 'lake:/lance' },
      tables: { formats: FORMATS, ...more },
    });
  }

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    proxy = await FaultyProxy.before(server.endpoint);
    redis = await RedisServer.start();
    a = await gateway();
    b = await gateway({ local: true });
  });

  afterAll(async () => {
    await b.stop();
    await a.stop();
    await redis.stop();
    await proxy.close();
    await server.stop();
  });

  const makeNamespace = ({ url }: Service, name: string): Promise<Reply> =>
    send(url, `POST /v1/namespace/${name}/create`, { body: {} });
  const namespaces = async ({ url }: Service): Promise<readonly unknown[]> => {
    const { json } = await send(url, 'GET /v1/namespace/$/list?limit=1000');
    return json['namespaces'] as readonly unknown[];
  };
  const rebuild = (service: Service): Promise<Printed> =>
    service.command('catalog', 'rebuild', '--json');

  it('show one catalog', async () => {
    expect((await makeNamespace(a, 'from-a')).status).toBe(200);
    expect((await makeNamespace(b, 'from-b')).status).toBe(200);
    expect(await namespaces(a)).toEqual(['from-a', 'from-b']);
    expect(await namespaces(b)).toEqual(['from-a', 'from-b']);
    expect((await makeNamespace(b, 'from-a')).json).toMatchObject({ code: 2 });
  });

  it('lose nothing with a Redis that lost everything', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `n${at}`);
    const replies = await Promise.all(names.map((name, at) => makeNamespace(at % 2 ? a : b, name)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    const before = await namespaces(a);
    await redis.command('FLUSHALL');
    expect((await send(a.url, 'GET /v1/namespace/$/list')).status).toBe(503);
    const { code, out, err } = await rebuild(b);
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ restored: 'all', lost: [] });
    await eventually(async () => expect(await namespaces(a)).toEqual(before));
    await eventually(async () => expect(await namespaces(b)).toEqual(before));
    expect((await makeNamespace(a, 'after')).status).toBe(200);
    expect(await a.command('catalog', 'verify')).toMatchObject({ code: 0 });
    expect(await b.command('catalog', 'gc', '--policies', b.policies)).toMatchObject({ code: 0 });
  });

  it('refuse tables that one of them alone could read', async () => {
    const rows = { body: goodRows, headers: ARROW_STREAM };
    const refused = await send(a.url, 'POST /v1/table/rows/create', rows);
    expect([refused.status, refused.json['code']]).toEqual([400, 13]);
    expect(refused.json['error']).toBe(
      'the gateways of this catalog share no folder, and the files of the new table would lie in a folder of one of them: ' +
        'make a Lance table in an object store, or set tables.local: true',
    );
    expect((await send(a.url, 'POST /v1/table/rows/exists', { body: {} })).status).toBe(404);
  });

  it('name the gateway that has the files of a table', async () => {
    const rows = { body: goodRows, headers: ARROW_STREAM };
    expect((await send(b.url, 'POST /v1/table/local/create', rows)).status).toBe(200);
    expect((await send(b.url, 'POST /v1/table/local/count_rows', { body: {} })).text).toBe(COUNT);
    for (const line of ['count_rows', 'describe', 'query', 'exists', 'version/list']) {
      const { status, json } = await send(a.url, `POST /v1/table/local/${line}`, { body: {} });
      expect([line, status, json['code']]).toEqual([line, 503, 17]);
      expect(json['error']).toContain(`in a folder of the gateway ${hostname()}:${b.data}`);
    }
    const { json } = await send(a.url, 'GET /v1/table?limit=100');
    expect(json['tables']).toContain('local');
    expect(await a.command('catalog', 'gc', '--policies', a.policies)).toMatchObject({ code: 0 });
    expect((await send(b.url, 'POST /v1/table/local/count_rows', { body: {} })).text).toBe(COUNT);
  });

  it('describe a Lance table by two requests to the bucket, and by none once it is in memory', async () => {
    const rows = { body: goodRows, headers: ARROW_STREAM };
    expect((await send(a.url, 'POST /v1/table/lance/create', rows)).status).toBe(200);
    let requests: string[] = [];
    proxy.fate = ({ method, url = '' }) => {
      if (url.includes('/shared/lance/')) requests.push(`${method} ${url}`);
      return undefined;
    };
    const counted = async (url: string): Promise<number> => {
      requests = [];
      const { status, json } = await send(url, 'POST /v1/table/lance/describe', { body: {} });
      expect([status, json['version'], json['stats']]).toEqual([
        200,
        1,
        { num_deleted_rows: 0, num_fragments: 1 },
      ]);
      return requests.length;
    };
    expect(await counted(b.url), requests.join()).toBeLessThanOrEqual(2);
    expect(await counted(b.url)).toBe(0);
    // What another gateway commits is seen at once.
    const appended = await send(a.url, 'POST /v1/table/lance/insert', rows);
    expect(appended.status).toBe(200);
    const { json } = await send(b.url, 'POST /v1/table/lance/describe', { body: {} });
    expect([json['version'], json['stats']]).toEqual([
      2,
      { num_deleted_rows: 0, num_fragments: 2 },
    ]);
    expect(await send(b.url, 'POST /v1/table/lance/drop', { body: {} })).toMatchObject({
      status: 200,
    });
  });

  it('are backed up with the key of masks, which lies beside the journal', async () => {
    const restrictions = `restrictions:
  - { name: hashed, tables: ['/local'], columns: { name: { mask: sha256 } } }
`;
    const copy = await Service.prepare();
    const place = (service: Service) => join(service.policies, 'restrictions.yaml');
    try {
      for (const each of [b, copy]) await writeFile(place(each), restrictions);
      const names = async ({ url }: Service): Promise<readonly unknown[]> => {
        const { bytes } = await send(url, 'POST /v1/table/local/query', { body: { vector: [] } });
        return tableFromIPC(bytes)
          .toArray()
          .map((row) => row?.['name'] as unknown);
      };
      await eventually(async () => expect((await names(b))[0]).toMatch(/^[0-9a-f]{64}$/));
      const { code, err } = await b.command('catalog', 'backup', copy.data, '--json');
      expect([code, err]).toEqual([0, '']);
      await copy.restart();
      expect(await names(copy)).toEqual(await names(b));
    } finally {
      await rm(place(b));
      await copy.stop();
    }
  });

  it('read on and refuse changes while the bucket is away', async () => {
    const before = await namespaces(a);
    proxy.fate = () => 'error';
    const refused = await makeNamespace(a, 'in-vain');
    expect([refused.status, refused.json['code']]).toEqual([503, 17]);
    expect(refused.json['error']).toContain('the catalog journal is not written');
    expect((await namespaces(a)).filter((name) => name !== 'in-vain')).toEqual(before);
    proxy.fate = () => undefined;
    await eventually(async () => {
      expect((await makeNamespace(a, 'again')).status).toBe(200);
    });
    expect(await a.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });
});
