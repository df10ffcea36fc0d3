import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../clients/http.ts';
import {
  BUCKET_CREDENTIALS,
  BUCKET_ROLE,
  BucketServer,
  hasBuckets,
} from '../support/bucket-server.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { canRun, Stage } from './stage.ts';

/** Spark on tables in a bucket, with credentials of the catalog and none of its own. */

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
/** How long sessions of the store last, in seconds: a statement of Spark takes some of them. */
const SESSION_SECONDS = 30;

const POLICY = `p, role:admin, /**, *, allow
p, user:reader, /lake/pens, read, allow
p, user:reader, /lake, describe, allow
`;

const DENIED = /AccessDenied|Access Denied|403|Forbidden|ExpiredToken/;

describe.runIf(hasBuckets && canRun('spark'))('Spark with credentials of the catalog', () => {
  let server: BucketServer;
  let stage: Stage;

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs', SESSION_SECONDS);
    const store = server.setting({ vend: { role_arn: BUCKET_ROLE } });
    stage = await Stage.start({
      config: stringify({
        object_stores: [store],
        locations: { managed: 'lake:/lance' },
        tables: { format: 'lance' },
      }),
      policy: POLICY,
      variables: { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret },
    });
    await stage.lancedb.createNamespace(['lake']);
    for (const name of ['pens', 'neighbour']) {
      await stage.lancedb.createTable(name, [{ id: 1, ink: 'red' }], ['lake']);
    }
    await stage.python.value(sessionOf(await stage.service.key('reader')));
  });

  afterAll(async () => {
    await stage?.stop();
    await server?.stop();
  });

  const spark = (statement: string) =>
    stage.python.value(`spark.sql(${JSON.stringify(statement)}).collect()`);
  const refused = (statement: string) =>
    stage.python.error(`spark.sql(${JSON.stringify(statement)}).collect()`);

  it('commits what it writes through the catalog', async () => {
    await spark(`INSERT INTO admin.lake.pens VALUES (2, 'blue'), (3, 'green')`);
    await spark(`UPDATE admin.lake.pens SET ink = 'black' WHERE id = 2`);
    await spark('DELETE FROM admin.lake.pens WHERE id = 3');
    expect(await stage.values('ink', 'lake', 'pens')).toEqual(['red', 'black']);
    const { body } = await send(stage.service, '/v1/table/lake$pens/version/list', { body: {} });
    const { versions } = body as { versions: readonly { version: number }[] };
    expect(versions.length).toBeGreaterThanOrEqual(4);
    const lines = await stage.service.audit();
    const commits = lines.filter(({ operation }) => operation === 'CreateTableVersion');
    expect(commits.length).toBeGreaterThanOrEqual(3);
  });

  it('makes a table of rows, and writes no version past the catalog', async () => {
    await spark('CREATE TABLE admin.lake.copy AS SELECT * FROM admin.lake.pens');
    expect(await stage.values('ink', 'lake', 'copy')).toEqual(['red', 'black']);
    expect(await refused('CREATE TABLE admin.lake.fresh (id BIGINT NOT NULL)')).toMatch(DENIED);
    expect(await refused('OPTIMIZE admin.lake.pens')).toMatch(DENIED);
    expect(await stage.values('ink', 'lake', 'pens')).toEqual(['red', 'black']);
  });

  it('reads with the key of a reader, and writes nothing', async () => {
    expect(await spark('SELECT count(*) FROM reader.lake.pens')).toEqual([[2]]);
    expect(await refused(`INSERT INTO reader.lake.pens VALUES (9, 'white')`)).toMatch(DENIED);
    expect(await refused('SELECT count(*) FROM reader.lake.neighbour')).toMatch(/403|denied/i);
    expect(await stage.values('id', 'lake', 'pens')).toEqual([1, 2]);
  });

  it('opens by the credentials of a table neither its neighbour nor, once they end, the table', async () => {
    const pens = await described('pens', await stage.service.key('reader'));
    const neighbour = await described('neighbour', ADMIN_KEY);
    await stage.python.value(catalogWith(pens.options));
    expect(await stage.python.value(readOf(pens.location))).toEqual(2);
    expect(await stage.python.error(readOf(neighbour.location))).toMatch(DENIED);
    const until = Number(pens.options['expires_at_millis']);
    await stage.python.value(`import time; time.sleep(max(0, ${until} / 1000 - time.time()) + 2)`);
    expect(await stage.python.error(readOf(pens.location))).toMatch(DENIED);
    expect(await spark('SELECT count(*) FROM reader.lake.pens')).toEqual([[2]]);
  });

  async function described(table: string, key: string) {
    const path = `/v1/table/lake$${table}/describe`;
    const { body } = await send(stage.service, path, { key, body: { vend_credentials: true } });
    const { location, storage_options: options } = body as {
      location: string;
      storage_options: Options;
    };
    return { location, options };
  }
});

type Options = Readonly<Record<string, string>>;

/** A catalog that opens what lies where with given credentials. */
function catalogWith(options: Options): string {
  const settings = Object.entries({
    '': 'org.lance.spark.LanceNamespaceSparkCatalog',
    '.impl': 'dir',
    '.root': '/tmp',
    ...Object.fromEntries(
      Object.entries(options).map(([name, value]) => [`.storage.${name}`, value]),
    ),
  }).map(([part, value]) => `"spark.sql.catalog.held${part}": ${JSON.stringify(value)}`);
  return `for name, value in {${settings.join(', ')}}.items():\n    spark.conf.set(name, value)`;
}

function readOf(location: string): string {
  return `spark.read.format("lance").option("catalog", "held").load(${JSON.stringify(location)}).count()`;
}

/** A session with two catalogs: of the administrator, and of a reader. */
function sessionOf(reader: string): string {
  const catalogs = [
    ['admin', 'os.environ["ARROWGATE_KEY"]'],
    ['reader', JSON.stringify(reader)],
  ].flatMap(([name, key]) =>
    [
      ['', '"org.lance.spark.LanceNamespaceSparkCatalog"'],
      ['.impl', '"rest"'],
      ['.uri', 'os.environ["ARROWGATE_URL"]'],
      ['.headers.x-api-key', key],
    ].map(([part, value]) => `.config("spark.sql.catalog.${name}${part}", ${value})`),
  );
  return `
import os
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.appName("vended")
    .config("spark.jars.packages", "org.lance:lance-spark-3.5_2.12:0.4.0")
    .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
    ${catalogs.join('\n    ')}
    .getOrCreate()
)
`;
}
