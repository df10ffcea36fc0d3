import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { checksOf, ownTables } from '../clients/python-client.ts';
import { send } from '../clients/http.ts';
import { lancedb } from '../clients/lancedb.ts';
import {
  BUCKET_CREDENTIALS,
  BUCKET_ROLE,
  BucketServer,
  hasBuckets,
} from '../support/bucket-server.ts';
import { conditionalModel } from '../policy/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };

const POLICY = `p, role:admin, /**, *, allow,
p, user:reader, /t, read, allow,
p, user:writer, /t, read, allow,
p, user:writer, /t, commit, allow,
p, user:committer, /t, commit, allow,
p, user:looker, /t, describe, allow,
p, user:local, /t, read, allow, ip in 127.0.0.0/8
p, user:brancher, /t, read, allow, branch == main
p, user:bound, /**, *, allow,
`;
type Options = Readonly<Record<string, string>>;
type Vend = Readonly<Record<string, unknown>>;

/** The longest session that the store gives to clients that outlive it, in seconds. */
const SHORT_SECONDS = 5;

describe.runIf(hasBuckets)('credentials of tables in a bucket', () => {
  let server: BucketServer;
  let service: Service;
  const keys = new Map<string, string>();
  let locations: Readonly<Record<string, string>>;

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    service = await startOn({ role_arn: BUCKET_ROLE, duration: '15m' });
    for (const name of ['reader', 'writer', 'committer', 'looker', 'local', 'brancher', 'bound']) {
      keys.set(name, await service.key(name));
    }
    const rows = [{ id: 1 }, { id: 2 }];
    const admin = await connectAs(ADMIN_KEY);
    for (const name of ['t', 'neighbour']) await admin.createTable(name, rows);
    locations = { t: await locationOf('t'), neighbour: await locationOf('neighbour') };
  });

  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });

  function startOn(vend: Vend, prefix = 'tables', more: object = {}): Promise<Service> {
    const store = server.setting({ url: `s3://${server.bucket}/${prefix}`, vend, ...more });
    const locations = { managed: 'lake:/lance' };
    return Service.start({
      config: stringify({ object_stores: [store], locations }),
      policy: POLICY,
      model: conditionalModel,
      variables,
    });
  }

  function connectAs(key: string, to = service): Promise<Connection> {
    return lancedb.connectNamespace('rest', { uri: to.url, headers: { 'x-api-key': key } });
  }

  const describeAs = (name: string, body: object = { vend_credentials: true }, table = 't') =>
    send(service, `/v1/table/${table}/describe`, { key: keys.get(name) ?? name, body });

  async function locationOf(table: string): Promise<string> {
    const { body } = await describeAs(ADMIN_KEY, {}, table);
    return (body as { location: string }).location.replace(`s3://${server.bucket}/`, '');
  }

  async function optionsOf(name: string, body?: object): Promise<Options> {
    const { status, body: described } = await describeAs(name, body);
    expect(status).toBe(200);
    return (described as { storage_options: Options }).storage_options;
  }

  function clientWith(options: Options): S3Client {
    return new S3Client({
      endpoint: options['aws_endpoint']!,
      region: options['aws_region']!,
      forcePathStyle: true,
      maxAttempts: 1,
      credentials: {
        accessKeyId: options['aws_access_key_id']!,
        secretAccessKey: options['aws_secret_access_key']!,
        sessionToken: options['aws_session_token']!,
      },
    });
  }

  /** What an S3 server answers: 200, or the code of its refusal. */
  async function answersTo(options: Options) {
    const client = clientWith(options);
    const answer = (request: Promise<unknown>): Promise<string> =>
      request.then(
        () => 'done',
        (error: unknown) => (error as Error).name,
      );
    const at = (key: string) => ({ Bucket: server.bucket, Key: key });
    return {
      get: (key: string) => answer(client.send(new GetObjectCommand(at(key)))),
      put: (key: string) => answer(client.send(new PutObjectCommand({ ...at(key), Body: 'x' }))),
      remove: (key: string) => answer(client.send(new DeleteObjectCommand(at(key)))),
      list: (prefix: string) =>
        answer(client.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix: prefix }))),
    };
  }

  const MANIFEST = '_versions/18446744073709551614.manifest';

  it('of a reader read the table, and nothing else', async () => {
    const { get, put, remove, list } = await answersTo(await optionsOf('reader'));
    const { t, neighbour } = locations;
    expect(await get(`${t}/${MANIFEST}`)).toBe('done');
    expect(await list(`${t}/`)).toBe('done');
    const refused = await Promise.all([
      get(`${neighbour}/${MANIFEST}`),
      list(`${neighbour}/`),
      list('tables/'),
      list(''),
      ...['data/x.lance', '_transactions/x.txn', `${MANIFEST}-x`, MANIFEST].map((key) =>
        put(`${t}/${key}`),
      ),
      remove(`${t}/${MANIFEST}`),
    ]);
    expect(new Set(refused)).toEqual(new Set(['AccessDenied']));
  });

  it('of a writer add files and staged manifests, never what the catalog alone writes', async () => {
    const { get, put, remove, list } = await answersTo(await optionsOf('writer'));
    const { t, neighbour } = locations;
    expect(await get(`${t}/${MANIFEST}`)).toBe('done');
    const written = ['data/x.lance', '_deletions/x.arrow', '_indices/u/x.idx', '_transactions/x'];
    const staged = `_versions/18446744073709551000.manifest-x`;
    for (const key of [...written, staged].flatMap((each) => [each, `tree/a/b/${each}`])) {
      expect([key, await put(`${t}/${key}`)]).toEqual([key, 'done']);
    }
    expect(await remove(`${t}/${staged}`)).toBe('done');
    expect(await remove(`${t}/tree/a/b/${staged}`)).toBe('done');
    const forbidden = [
      MANIFEST,
      '_versions/18446744073709551000.manifest',
      `tree/a/${MANIFEST}`,
      `tree/data/${MANIFEST}`,
      '_refs/tags/v.json',
      'tree/a/_refs/tags/v.json',
      'tree/data/_refs/tags/v.json',
      'other/x',
    ];
    for (const key of forbidden) {
      expect([key, await put(`${t}/${key}`)]).toEqual([key, 'AccessDenied']);
    }
    const refused = await Promise.all([
      remove(`${t}/${MANIFEST}`),
      remove(`${t}/data/x.lance`),
      put(`${neighbour}/data/x.lance`),
      get(`${neighbour}/${MANIFEST}`),
      list(`${neighbour}/`),
    ]);
    expect(new Set(refused)).toEqual(new Set(['AccessDenied']));
  });

  it('of a caller that may commit and not read open no rows', async () => {
    const { get, put } = await answersTo(await optionsOf('committer'));
    const { t } = locations;
    expect(await get(`${t}/${MANIFEST}`)).toBe('done');
    expect(await put(`${t}/data/y.lance`)).toBe('done');
    expect(await get(`${t}/data/y.lance`)).toBe('AccessDenied');
  });

  it('are the same until a third of their time is left, and differ between callers', async () => {
    const [one, other, third] = [
      await optionsOf('reader'),
      await optionsOf('reader', {}),
      await optionsOf('writer'),
    ];
    expect(other).toEqual(one);
    expect(third['aws_access_key_id']).not.toBe(one['aws_access_key_id']);
    expect(Number(one['expires_at_millis'])).toBeGreaterThan(Date.now() + 10 * 60_000);
    expect(one).toMatchObject({
      aws_region: 'us-east-1',
      aws_endpoint: server.endpoint,
      allow_http: 'true',
      refresh_offset_millis: '60000',
    });
    expect(Object.values(one).filter((value) => typeof value !== 'string')).toEqual([]);
  });

  it('are handed out no more once a table is renamed, or a right is gone', async () => {
    const admin = await connectAs(ADMIN_KEY);
    await admin.createTable('moving', [{ id: 1 }]);
    const before = await describeAs(ADMIN_KEY, {}, 'moving');
    await send(service, '/v1/table/moving/rename', { body: { new_table_name: 'moved' } });
    const after = await describeAs(ADMIN_KEY, {}, 'moved');
    const keyOf = ({ body }: { body: unknown }) =>
      (body as { storage_options: Options }).storage_options['aws_access_key_id'];
    expect(keyOf(after)).not.toBe(keyOf(before));
    expect((await describeAs(ADMIN_KEY, undefined, 'moving')).status).toBe(404);
    await service.writePolicy(POLICY.replace('p, user:writer, /t, commit, allow,\n', ''));
    await eventually(async () => {
      const { put } = await answersTo(await optionsOf('writer'));
      expect(await put(`${locations['t']}/data/z.lance`)).toBe('AccessDenied');
    });
    await service.writePolicy(POLICY);
    await eventually(async () => {
      const { put } = await answersTo(await optionsOf('writer'));
      expect(await put(`${locations['t']}/data/z.lance`)).toBe('done');
    });
  });

  it.each([
    ['looker', 'user:looker may not QueryTable on /t'],
    ['local', 'under all conditions'],
    ['brancher', 'under all conditions'],
  ])('are refused to %s', async (name, sentence) => {
    const { status, body } = await describeAs(name);
    expect([status, body]).toEqual([
      403,
      expect.objectContaining({ code: 15, error: expect.stringContaining(sentence) }),
    ]);
    const { status: plain, body: described } = await describeAs(name, {});
    expect([plain, Object.keys(described as object)]).toEqual([
      200,
      expect.not.arrayContaining(['storage_options']),
    ]);
  });

  it('are refused to callers whom a row filter binds', async () => {
    const file = join(service.policies, 'restrictions.yaml');
    const filter = { tables: ['/t', '/later'], subjects: ['user:bound'], rows: 'id > 1' };
    await writeFile(file, stringify({ restrictions: [{ name: 'some', ...filter }] }));
    try {
      await eventually(async () => {
        const { status, body } = await describeAs('bound');
        expect([status, body]).toEqual([
          403,
          expect.objectContaining({ code: 15, error: expect.stringContaining('some') }),
        ]);
      });
      const { status, body } = await describeAs('bound', {});
      expect([status, Object.keys(body as object)]).toEqual([
        200,
        expect.not.arrayContaining(['storage_options', 'location', 'table_uri']),
      ]);
      const declared = await send(service, '/v1/table/later/declare', {
        key: keys.get('bound')!,
        body: {},
      });
      expect(declared.status).toBe(403);
      expect((await describeAs('reader')).status).toBe(200);
    } finally {
      await rm(file);
    }
  });

  it('come only on demand to clients of the service, and not to those that want none', async () => {
    const wanting = (path: string, body: object) =>
      send(service, path, { key: keys.get('reader')!, body });
    for (const [path, body] of [
      ['/v1/table/t/describe', { vend_credentials: false }],
      ['/v1/table/t/describe/', {}],
    ] as const) {
      const { status, body: described } = await wanting(path, body);
      expect([status, JSON.stringify(described)]).toEqual([
        200,
        expect.not.stringContaining('storage_options'),
      ]);
    }
    const { body } = await wanting('/v1/table/t/describe/', { vend_credentials: true });
    expect(body).toHaveProperty('storage_options.aws_session_token');
  });

  it('are recorded before they are answered, without the secret', async () => {
    const options = await optionsOf('reader');
    const id = 'declared-with-credentials';
    const declare = () =>
      send(service, '/v1/table/fresh/declare', {
        body: { vend_credentials: true },
        headers: { 'x-request-id': id },
      });
    const first = await declare();
    const fresh = (first.body as { storage_options: Options }).storage_options;
    expect(fresh).toHaveProperty('aws_session_token');
    // A repeat is answered from the store, where no credentials are.
    const repeated = await declare();
    expect([repeated.status, repeated.body]).toEqual([
      200,
      expect.not.objectContaining({ storage_options: expect.anything() }),
    ]);
    const lines = await service.audit();
    const outcomes = lines.filter(({ phase, vended }) => phase === 'outcome' && vended);
    expect(outcomes).toContainEqual(
      expect.objectContaining({
        subject: 'user:reader',
        operation: 'DescribeTable',
        vended: {
          prefix: `s3://${server.bucket}/${locations['t']}`,
          access: 'read',
          until: new Date(Number(options['expires_at_millis'])).toISOString(),
        },
      }),
    );
    expect(outcomes).toContainEqual(
      expect.objectContaining({
        operation: 'DeclareTable',
        vended: expect.objectContaining({ access: 'read and commit' }),
      }),
    );
    const page = await service.command('audit', 'show', id);
    expect(page.out).toMatch(/credentials +read and commit, s3:.*, until 2/);
    const everything = `${JSON.stringify(lines)}${service.errors}${page.out}`;
    for (const given of [options, fresh]) {
      for (const key of ['aws_secret_access_key', 'aws_session_token'])
        expect(everything).not.toContain(given[key]!);
    }
  });

  it('let LanceDB write and read a table without credentials of its own', async () => {
    const writer = await connectAs(ADMIN_KEY);
    const table = await writer.createTable('own', [{ id: 1 }, { id: 2 }]);
    await table.add([{ id: 3 }]);
    await table.update({ where: 'id = 2', values: { id: '20' } });
    await table.delete('id = 1');
    await table.createIndex('id', { config: lancedb.Index.btree() });
    await table.optimize();
    expect(await table.countRows()).toBe(2);
    const reader = await (await connectAs(keys.get('reader')!)).openTable('t');
    expect(await reader.countRows()).toBe(2);
    await expect(reader.add([{ id: 9 }])).rejects.toThrow();
    expect(await reader.countRows()).toBe(2);
    const outsider = await connectAs(keys.get('looker')!);
    await expect(outsider.openTable('t').then((each) => each.countRows())).rejects.toThrow();
  });

  it('let pylance write and read a table', async () => {
    await send(service, '/v1/namespace/python/create', { body: {} });
    const { names, faults } = await checksOf('vended.py', ownTables(service, ['python']));
    expect(faults).toEqual([]);
    expect(names.length).toBeGreaterThan(2);
  });

  it('of a reader let pylance read a table, and write nothing', async () => {
    const target = { ...ownTables(service, []), key: keys.get('reader')! };
    const { names, faults } = await checksOf('vended_reader.py', target);
    expect([faults, names.length]).toEqual([[], 2]);
  });

  it('are refused where none are configured, and left out of what a client does not demand', async () => {
    const other = await startOn({}, 'silent');
    try {
      expect((await send(other, '/v1/table/t/declare', { body: {} })).body).not.toHaveProperty(
        'storage_options',
      );
      for (const path of ['/v1/table/t/describe', '/v1/table/u/declare']) {
        const { status, body } = await send(other, path, { body: { vend_credentials: true } });
        expect([status, body]).toEqual([
          406,
          expect.objectContaining({
            code: 0,
            error: expect.stringContaining('the object store lake issues no credentials'),
          }),
        ]);
      }
      expect((await send(other, '/v1/table/u/describe', { body: {} })).status).toBe(404);
    } finally {
      await other.stop();
    }
  });

  it('are those of the store itself where the configuration says so, with a warning', async () => {
    const other = await startOn({ static: true }, 'static');
    try {
      expect(other.errors).toContain('vend.static of the object store lake');
      const { out } = await other.command('check', '--json');
      expect(JSON.parse(out).warnings).toContainEqual(
        expect.stringContaining('vend.static of the object store lake'),
      );
      const table = await (await connectAs(ADMIN_KEY, other)).createTable('t', [{ id: 1 }]);
      expect(await table.countRows()).toBe(1);
      const { body } = await send(other, '/v1/table/t/describe', {
        body: { vend_credentials: true },
      });
      const { storage_options: options } = body as { storage_options: Options };
      expect(options).toMatchObject({ aws_access_key_id: accessKey });
      expect(options).not.toHaveProperty('expires_at_millis');
      expect(JSON.stringify(await other.audit())).toContain('"access":"all"');
    } finally {
      await other.stop();
    }
  });

  it('make 503 of what demands them while their service is away, and nothing else', async () => {
    const proxy = await FaultyProxy.before(server.endpoint);
    const other = await startOn({ role_arn: BUCKET_ROLE, endpoint: proxy.url }, 'away');
    const stranger = await startOn({ role_arn: `${BUCKET_ROLE}-unknown` }, 'stranger');
    try {
      const describeIt = (body: object) => send(other, '/v1/table/t/describe', { body });
      await send(other, '/v1/table/t/declare', { body: { vend_credentials: false } });
      proxy.fate = () => 'hung';
      const unavailable = [
        503,
        expect.objectContaining({
          code: 17,
          error: expect.stringMatching(
            /^the security token service of the object store lake is unavailable: /,
          ),
        }),
      ];
      for (const body of [{ vend_credentials: true }, {}]) {
        const { status, body: said } = await describeIt(body);
        expect([status, said]).toEqual(unavailable);
      }
      const { requests } = proxy;
      expect((await describeIt({})).status).toBe(503);
      expect(proxy.requests).toBe(requests);
      expect((await describeIt({ vend_credentials: false })).status).toBe(200);
      const declared = await send(other, '/v1/table/u/declare', { body: {} });
      expect([declared.status, declared.body]).toEqual(unavailable);
      expect((await send(other, '/v1/table/u/exists', { body: {} })).status).toBe(404);
      proxy.fate = () => undefined;
      await eventually(async () => {
        expect((await describeIt({ vend_credentials: true })).status).toBe(200);
      });
      const refused = await send(stranger, '/v1/table/t/declare', { body: {} });
      expect([refused.status, refused.body]).toEqual([
        503,
        expect.objectContaining({
          error: expect.stringMatching(
            /^the security token service of the object store lake refuses the gateway: AccessDenied/,
          ),
        }),
      ]);
    } finally {
      await other.stop();
      await stranger.stop();
      await proxy.close();
    }
  });
});

describe.runIf(hasBuckets)('a client that works longer than its credentials', () => {
  let server: BucketServer;
  let service: Service;
  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs', SHORT_SECONDS);
    const store = server.setting({ vend: { role_arn: BUCKET_ROLE } });
    service = await Service.start({
      config: stringify({ object_stores: [store], locations: { managed: 'lake:/lance' } }),
      variables,
    });
  });
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });

  it('gets new ones and goes on, while the old ones end', async () => {
    const headers = { 'x-api-key': ADMIN_KEY };
    const writer = await lancedb.connectNamespace('rest', { uri: service.url, headers });
    const table = await writer.createTable('t', [{ id: 0 }]);
    const { body } = await send(service, '/v1/table/t/describe', {
      body: { vend_credentials: true },
    });
    const { storage_options: options, location } = body as {
      storage_options: Options;
      location: string;
    };
    const folder = location.replace(`s3://${server.bucket}/`, '');
    const client = new S3Client({
      endpoint: server.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      maxAttempts: 1,
      credentials: {
        accessKeyId: options['aws_access_key_id']!,
        secretAccessKey: options['aws_secret_access_key']!,
        sessionToken: options['aws_session_token']!,
      },
    });
    const list = () =>
      client.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix: `${folder}/` }));
    expect((await list()).KeyCount).toBeGreaterThan(1);
    const until = Number(options['expires_at_millis']) + SHORT_SECONDS * 1000;
    let added = 0;
    while (Date.now() < until) {
      added += 1;
      await table.add([{ id: added }]);
      expect(await table.countRows()).toBe(added + 1);
    }
    expect(added).toBeGreaterThan(1);
    await expect(list()).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } });
  });

  it('is pylance as well, and credentials open neither a neighbour nor anything once they ended', async () => {
    await send(service, '/v1/namespace/python/create', { body: {} });
    const { names, faults } = await checksOf('vended_ends.py', ownTables(service, ['python']));
    expect([faults, names.length]).toEqual([[], 3]);
  });
});
