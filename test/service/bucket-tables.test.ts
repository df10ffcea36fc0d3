import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectTo, lancedb, rowsOf } from '../clients/lancedb.ts';
import { send } from '../clients/http.ts';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { makeCertificate } from '../support/certificates.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { testFolders } from '../support/folder.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };
const newFolder = testFolders();

describe.runIf(hasBuckets)('a service whose Lance tables lie in a bucket', () => {
  let server: BucketServer;
  let service: Service;
  let remote: Connection;
  let direct: Connection;

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    service = await Service.start({
      config: stringify({
        object_stores: [storeAt(server.endpoint, 'tables')],
        locations: { managed: 'lake:/lance' },
        tables: { formats: [{ tables: ['/rows'], format: 'lance' }] },
      }),
      variables,
    });
    remote = await connectTo(service);
    direct = await lancedb.connectNamespace(
      'rest',
      { uri: service.url, headers: { 'x-api-key': ADMIN_KEY } },
      {
        storageOptions: {
          aws_access_key_id: accessKey,
          aws_secret_access_key: secret,
          aws_region: 'us-east-1',
          aws_endpoint: server.endpoint,
          allow_http: 'true',
        },
      },
    );
  });

  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  function storeAt(endpoint: string, prefix: string): object {
    const url = `s3://${server.bucket}/${prefix}`;
    return { name: 'lake', url, endpoint, path_style: true, credentials_env: 'LAKE' };
  }

  const call = (path: string, body: object = {}) => send(service, `/v1/table/${path}`, { body });
  const storePart = async () => {
    const { body } = await send(service, '/readyz', { method: 'GET' });
    const { parts } = body as { parts: readonly { readonly part: string }[] };
    return parts.find(({ part }) => part === 'store:lake');
  };
  const described = async (table: string) => (await call(`${table}/describe`)).body;

  it('answers for the rows of its tables to a client without credentials of the bucket', async () => {
    const rows = Array.from({ length: 300 }, (_, id) => ({ id, word: `word ${id % 7}` }));
    const table = await remote.createTable('rows', rows);
    expect(await table.countRows()).toBe(300);
    await table.add([{ id: 300, word: 'added' }]);
    await table.update({ where: 'id = 5', values: { word: 'changed' } });
    await table.delete('id < 3');
    await table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute([
        { id: 4, word: 'merged' },
        { id: 999, word: 'new' },
      ]);
    await table.createIndex('id', { config: lancedb.Index.btree() });
    await eventually(async () => expect(await table.listIndices()).toHaveLength(1));
    expect(await table.countRows()).toBe(299);
    const found = await rowsOf(
      table.query().where('id in (4, 5, 300, 999)').select(['id', 'word']),
    );
    expect(found.toSorted((one, other) => Number(one['id']) - Number(other['id']))).toEqual([
      { id: 4, word: 'merged' },
      { id: 5, word: 'changed' },
      { id: 300, word: 'added' },
      { id: 999, word: 'new' },
    ]);
    const { location } = (await described('rows')) as { location: string };
    expect(location).toMatch(/^s3:\/\/lake\/tables\/lance\/[0-9a-f-]{36}\.lance$/);
    expect(JSON.stringify(await described('rows'))).not.toContain(secret);
  });

  it('commits what a client writes to the bucket itself', async () => {
    const table = await direct.createTable('own', [{ id: 1 }, { id: 2 }]);
    await table.add([{ id: 3 }]);
    expect(await table.countRows()).toBe(3);
    expect(await described('own')).toMatchObject({ version: 2, managed_versioning: true });
    const served = await remote.openTable('own');
    expect(await served.countRows('id > 1')).toBe(2);
    await served.add([{ id: 4 }]);
    await table.checkoutLatest();
    expect(await table.countRows()).toBe(4);
    await (await table.tags()).create('v', 2);
    expect((await call('own/tags/version', { tag: 'v' })).body).toMatchObject({ version: 2 });
  });

  it('is verified and collected by commands', async () => {
    await direct.createTable('gone', [{ id: 1 }]);
    await call('gone/drop');
    const verified = await service.command('catalog', 'verify', '--json');
    expect([verified.code, JSON.parse(verified.out).findings]).toEqual([0, []]);
    const dropped = await service.command('catalog', 'dropped', '--json');
    expect(dropped.out).toContain('gone');
    const { code } = await service.command('catalog', 'undrop', '/gone');
    expect(code).toBe(0);
    expect(await described('gone')).toMatchObject({ version: 1 });
    const collected = await service.command('catalog', 'gc', '--dry-run', '--json');
    expect([collected.code, JSON.parse(collected.out)]).toEqual([
      0,
      expect.objectContaining({ failures: [] }),
    ]);
  });

  it('takes tables that are converted, and is named by backups', async () => {
    await remote.createTable('plain', [{ id: 1 }, { id: 2 }]);
    const { code, err } = await service.command('catalog', 'convert', '/plain', '--to', 'lance');
    expect([code, err]).toEqual([0, expect.any(String)]);
    const { location } = (await described('plain')) as { location: string };
    expect(location).toMatch(/^s3:\/\/lake\/tables\/lance\//);
    expect(await (await remote.openTable('plain')).countRows()).toBe(2);
    const backup = await service.command('catalog', 'backup', join(service.folder, 'backup'));
    expect([backup.code, backup.out]).toEqual([
      0,
      expect.stringContaining(
        `not copied, since it lies in an object store, or Lance clients write it elsewhere: ${location}`,
      ),
    ]);
  });

  it('refuses a location in a bucket for rows of the gateway itself', async () => {
    const asked = await send(service, '/v1/table/other/create', {
      headers: { 'x-lance-table-location': 's3://lake/tables/lance/other' },
    });
    expect([asked.status, asked.body]).toEqual([
      400,
      expect.objectContaining({ code: 13, error: expect.stringContaining('needs a folder') }),
    ]);
  });

  it('is reached by the library over TLS', async () => {
    const folder = await newFolder();
    // The library takes no certificate that signs itself.
    const authority = await makeCertificate(folder, 'authority', { commonName: 'authority' });
    const details = { commonName: 'store', authority };
    const { cert, key } = await makeCertificate(folder, 'store', details);
    const texts = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
    const proxy = await FaultyProxy.before(server.endpoint, texts);
    const other = await Service.start({
      config: stringify({
        object_stores: [storeAt(proxy.url, 'secure')],
        locations: { managed: 'lake:/lance' },
        tables: { format: 'lance' },
      }),
      variables: { ...variables, NODE_EXTRA_CA_CERTS: authority.cert },
    });
    try {
      const table = await (await connectTo(other)).createTable('t', [{ id: 1 }]);
      await table.add([{ id: 2 }]);
      expect(await table.countRows()).toBe(2);
    } finally {
      await other.stop();
      await proxy.close();
    }
  });

  it('leaves credentials out of its log and its audit records', async () => {
    expect(service.errors).not.toContain(secret);
    expect(JSON.stringify(await service.audit())).not.toContain(secret);
  });

  it('answers 503 for its tables while the bucket is away, and goes on for all others', async () => {
    await remote.createTable('here', [{ id: 1 }]);
    await server.end();
    const asked = await Promise.all(
      ['own/describe', 'own/version/list', 'rows/version/list'].map((path) => call(path)),
    );
    for (const { status, body } of asked) {
      expect([status, body]).toEqual([
        503,
        expect.objectContaining({
          code: 17,
          error: expect.stringMatching(/^the object store lake is unavailable: /),
        }),
      ]);
    }
    const away = 'the object store lake is unavailable: .* \\(since 2[-0-9]+T[:.0-9]+Z\\)$';
    expect(await storePart()).toEqual({
      part: 'store:lake',
      status: 'degraded',
      why: expect.stringMatching(away),
    });
    expect((await call('here/describe')).status).toBe(200);
    expect(await (await remote.openTable('here')).countRows()).toBe(1);
    expect((await send(service, '/v1/table', { method: 'GET' })).status).toBe(200);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    await service.end();
    await service.restart();
    expect(service.errors).toContain('the object store lake is unavailable');
    expect((await call('here/describe')).status).toBe(200);
    await server.restart();
    await eventually(async () => expect(await described('own')).toMatchObject({ version: 3 }));
    remote = await connectTo(service);
    const own = await remote.openTable('own');
    await eventually(async () => expect(await own.countRows()).toBe(4));
    await own.add([{ id: 5 }]);
    expect(await own.countRows()).toBe(5);
    await eventually(async () =>
      expect(await storePart()).toEqual({ part: 'store:lake', status: 'ok' }),
    );
  });
});
