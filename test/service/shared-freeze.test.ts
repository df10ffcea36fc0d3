import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectTo } from '../clients/lancedb.ts';
import { send } from '../clients/http.ts';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';

const { id: accessKey, secret } = BUCKET_CREDENTIALS;
const newFolder = testFolders();
const RESTRICTIONS = `restrictions:
  - name: bait
    tables: ['/people']
    except: ['role:admin']
    canary: email = 'trap@x.org'
    freeze: true
`;

describe.runIf(hasBuckets)('a key of two gateways that share their keys', () => {
  let server: BucketServer;
  let redis: RedisServer;
  const gateways: Service[] = [];

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    redis = await RedisServer.start();
    const file = join(await newFolder(), 'key-secret');
    await writeFile(file, randomBytes(32).toString('base64url'));
    const store = { name: 'lake', url: `s3://${server.bucket}/f`, endpoint: server.endpoint };
    const config = stringify({
      coordination: { redis: redis.url },
      object_stores: [{ ...store, path_style: true, credentials_env: 'LAKE' }],
      journal: 'lake:/catalog',
      locations: { managed: 'lake:/lance' },
      tables: { format: 'lance' },
      keys: { secret_file: file },
    });
    const variables = { LAKE_ACCESS_KEY_ID: accessKey, LAKE_SECRET_ACCESS_KEY: secret };
    for (let count = 0; count < 2; count++) {
      const policy = 'p, role:admin, /**, *, allow\np, role:analyst, /**, *, allow\n';
      gateways.push(await Service.start({ config, variables, policy }));
    }
    const rows = [
      { id: 1, email: 'ann@x.org' },
      { id: 2, email: 'trap@x.org' },
    ];
    await (await connectTo(gateways[0]!)).createTable('people', rows);
    for (const { policies } of gateways) {
      const path = join(policies, 'restrictions.yaml');
      await writeFile(`${path}.new`, RESTRICTIONS);
      await rename(`${path}.new`, path);
    }
  });

  afterAll(async () => {
    for (const gateway of gateways) await gateway.stop();
    await redis.stop();
    await server.stop();
  });

  it('is frozen at both by a canary of one, and thawed at both by a command at the other', async () => {
    const [a, b] = gateways as [Service, Service];
    const key = await a.keyByCommand('fred', 'analyst');
    const count = async (gateway: Service, predicate: string) => {
      const { status, body } = await send(gateway, '/v1/table/people/count_rows', {
        key,
        body: { predicate },
      });
      return [status, body];
    };
    for (const each of gateways) {
      await eventually(async () => expect(await count(each, 'id > 0')).toEqual([200, 1]));
    }
    await count(a, "email = 'trap@x.org'");
    for (const each of gateways) {
      await eventually(async () => expect((await count(each, 'id > 0'))[0]).toBe(401));
    }
    const id = key.split('_')[1]!;
    expect(await b.command('keys', 'thaw', id)).toMatchObject({ code: 0 });
    for (const each of gateways) {
      await eventually(async () => expect(await count(each, 'id > 0')).toEqual([200, 1]));
    }
  });
});
