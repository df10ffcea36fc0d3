import { randomUUID } from 'node:crypto';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { send } from '../clients/http.ts';
import { connectTo } from '../clients/lancedb.ts';
import {
  BUCKET_CREDENTIALS,
  BUCKET_ROLE,
  BucketServer,
  hasBuckets,
} from '../support/bucket-server.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };

describe.runIf(hasBuckets)('a bucket that takes requests and answers none', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  let service: Service;

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    proxy = await FaultyProxy.before(server.endpoint);
    service = await start();
    const remote = await connectTo(service);
    for (const name of ['cold', 'open', 'committed']) {
      // A busy machine may be slow to answer the first requests.
      await eventually(() => remote.createTable(name, [{ id: 1 }], { mode: 'overwrite' }));
    }
    // Nothing of the tables is in memory.
    await service.end();
    await service.restart();
  });

  afterAll(async () => {
    proxy.fate = () => undefined;
    proxy.release();
    await service?.stop();
    await proxy?.close();
    await server?.stop();
  });

  function start(): Promise<Service> {
    const vend = { role_arn: BUCKET_ROLE, duration: '15m' };
    const store = server.setting({ endpoint: proxy.url, vend });
    return Service.start({
      config: stringify({
        object_stores: [store],
        locations: { managed: 'lake:/lance' },
        tables: { format: 'lance' },
      }),
      variables,
    });
  }

  const call = (path: string, body: object = {}) => send(service, `/v1/table/${path}`, { body });

  async function insert(table: string): ReturnType<typeof call> {
    const response = await fetch(`${service.url}/v1/table/${table}/insert`, {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/vnd.apache.arrow.stream' },
      body: tableToIPC(tableFromArrays({ id: [2] }), 'stream'),
    });
    const { status, headers } = response;
    return { status, headers, body: await response.json() };
  }

  /** One request of each class. */
  const requests: Readonly<Record<string, (table: string) => ReturnType<typeof call>>> = {
    describe: (table) => call(`${table}/describe`),
    query: (table) => call(`${table}/query`, { vector: {}, k: 10, filter: 'id > 0' }),
    count: (table) => call(`${table}/count_rows`, { predicate: 'id > 0' }),
    insert,
    list: (table) => call(`${table}/version/list`),
    vend: (table) => call(`${table}/describe`, { vend_credentials: true }),
  };

  const askAll = (table: string, kinds: readonly string[]) =>
    Promise.all(kinds.map((kind) => requests[kind]!(table)));

  it('makes requests of every class 503 code 17, and names the store', async () => {
    // The gateway knows these tables, and the library has one open: the library alone needs the bucket.
    const { location } = (await call('committed/describe')).body as { location: string };
    await call('open/describe');
    expect((await call('open/count_rows')).body).toBe(1);
    proxy.fate = () => 'hung';
    const manifest = `${location.replace('s3://lake/', '')}/_versions/2.manifest-${randomUUID()}`;
    const [cold, open, committed] = await Promise.all([
      askAll('cold', Object.keys(requests)),
      askAll('open', ['query', 'count', 'insert', 'list']),
      call('committed/version/create', { version: 2, manifest_path: manifest }),
    ]);
    for (const { status, body } of [...cold, ...open, committed]) {
      const error = expect.stringMatching(/^the object store lake is unavailable: /);
      expect([status, body]).toEqual([503, expect.objectContaining({ code: 17, error })]);
    }
    proxy.fate = () => undefined;
    proxy.release();
    for (const table of ['cold', 'open', 'committed']) {
      await eventually(async () => expect((await call(`${table}/count_rows`)).body).toBe(1));
    }
  });
});
