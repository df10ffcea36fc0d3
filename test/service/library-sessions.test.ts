import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { send } from '../clients/http.ts';
import { connectTo, lancedb } from '../clients/lancedb.ts';
import {
  BUCKET_CREDENTIALS,
  BUCKET_ROLE,
  BUCKET_VARIABLES,
  BucketServer,
  hasBuckets,
} from '../support/bucket-server.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { Service } from '../support/service.ts';

/** The longest session that the store gives, in seconds. The next one begins at two thirds; a loaded machine needs the last. */
const SHORT_SECONDS = 45;

/** The folder of a table in the path of a request for one of its files of rows. */
const DATA_FILE = /\/lance\/([^/?]+)\/(?:tree\/[^/]+\/)?(?:data|_indices|_deletions)\//;
const CREDENTIAL = /Credential=([^/]+)\//;

describe.runIf(hasBuckets)('the Lance library at a store that has a token service', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  let service: Service;
  /** The access keys with which the rows of each table were asked for, by its folder. */
  const used = new Map<string, Set<string>>();

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs', SHORT_SECONDS);
    proxy = await FaultyProxy.before(server.endpoint);
    proxy.fate = ({ url = '', headers }) => {
      const folder = DATA_FILE.exec(url)?.[1];
      const key = CREDENTIAL.exec(headers.authorization ?? '')?.[1];
      if (folder !== undefined) used.set(folder, (used.get(folder) ?? new Set()).add(key ?? ''));
      return undefined;
    };
    const vend = { role_arn: BUCKET_ROLE };
    const store = server.setting({ endpoint: proxy.url, vend });
    service = await Service.start({
      config: stringify({
        object_stores: [store],
        locations: { managed: 'lake:/lance' },
        tables: { format: 'lance' },
      }),
      variables: BUCKET_VARIABLES,
    });
  });

  afterAll(async () => {
    await service?.stop();
    await proxy?.close();
    await server?.stop();
  });

  it('reads and writes each table with credentials of that table alone, and gets new ones as they end', async () => {
    const client = await connectTo(service);
    const rows = [1, 2, 3].map((id) => ({ id, text: `row ${id}`, vector: [id, 1] }));
    const table = await client.createTable('t', rows);
    const other = await client.createTable('neighbour', rows);
    await table.createIndex('id', { config: lancedb.Index.btree() });
    await table.createIndex('text', { config: lancedb.Index.fts() });
    await table.addColumns([{ name: 'twice', valueSql: 'id * 2' }]);
    await table.update({ where: 'id = 2', values: { text: "'changed'" } });
    await table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute([
        { id: 3, text: 'row 3', vector: [3, 1], twice: 6 },
        { id: 4, text: 'row 4', vector: [4, 1], twice: 8 },
      ]);
    await table.delete('id = 1');
    await table.dropColumns(['twice']);
    const branched = await send(service, '/v1/table/t/branches/create', { body: { name: 'dev' } });
    expect([branched.status, branched.body]).toEqual([200, expect.anything()]);
    let added = 0;
    for (; [...used.values()].some(({ size }) => size < 2); added += 1) {
      await table.add([{ id: 10 + added, text: 'more', vector: [0, 0] }]);
      expect(await table.countRows()).toBe(4 + added);
      expect(await other.query().where('id > 1').toArray()).toHaveLength(2);
    }
    const { code, err } = await service.command('catalog', 'compact', '/t');
    expect([code, err]).toEqual([0, '']);
    expect(await table.search('changed', 'fts').limit(5).toArray()).toHaveLength(1);
    const keys = [...used.values()];
    expect(keys).toHaveLength(2);
    expect(keys.flatMap((each) => [...each])).not.toContain(BUCKET_CREDENTIALS.id);
    expect([...keys[0]!].filter((key) => keys[1]!.has(key))).toEqual([]);
  }, 240_000);

  it('answers 503 for a table without a session while the token service is away, and goes on afterwards', async () => {
    const client = await connectTo(service);
    for (const name of ['known', 'fresh']) await client.createTable(name, [{ id: 1 }]);
    const { fate } = proxy;
    const counts = (name: string) => send(service, `/v1/table/${name}/count_rows`, { body: {} });
    await service.end();
    await service.restart();
    expect((await counts('known')).body).toBe(1);
    proxy.fate = ({ method, url }) => (method === 'POST' && url === '/' ? 'hung' : undefined);
    const { status, body } = await counts('fresh');
    expect([status, body]).toEqual([
      503,
      expect.objectContaining({
        code: 17,
        error: expect.stringMatching(/^the security token service of the object store lake is /),
      }),
    ]);
    expect((await counts('known')).status).toBe(200);
    proxy.fate = fate;
    await eventually(async () => {
      expect((await counts('fresh')).body).toBe(1);
    });
  });
});
