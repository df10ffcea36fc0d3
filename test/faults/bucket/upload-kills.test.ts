import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readManifestFile } from '../../../src/engine/format/lance/manifest-file.ts';
import { BucketStorage } from '../../../src/storage/bucket/bucket-storage.ts';
import { arrow, tableOf } from '../../clients/lancedb.ts';
import { ARROW_STREAM, send } from '../../service/http.ts';
import { BucketServer, hasBuckets } from '../../support/bucket-server.ts';
import { triesAll } from '../../support/cases.ts';
import { eventually } from '../../support/eventually.ts';
import { testFolders } from '../../support/folder.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { BucketGateway } from './bucket-gateway.ts';

const newFolder = testFolders();
/** Rows of one insert; their file is larger than one part of an upload. */
const ROWS = 12_000;
const ROW_BYTES = 1000;

const on =
  (method: string, part: RegExp) =>
  (request: IncomingMessage): boolean =>
    request.method === method && part.test(request.url ?? '');

/** The requests by which an insert leaves the gateway, in their order. */
const steps: Readonly<Record<string, (request: IncomingMessage) => boolean>> = {
  'the begin of the rows': on('POST', /\/data\/.*[?&]uploads/),
  'a part of the rows': on('PUT', /\/data\/.*partNumber=1\b/),
  'the completion of the rows': on('POST', /\/data\/.*uploadId=/),
  'the staged manifest': on('PUT', /\/_versions\/\d+\.manifest-/),
  'the held manifest': on('PUT', /\/_versions\/\d+\.manifest\./),
  'the journal': on('PUT', /\/catalog\/journal-/),
  'the final name': on('PUT', /\/_versions\/\d+\.manifest(?:\?|$)/),
  'the removal': (request) =>
    on('POST', /[?&]delete/)(request) || on('DELETE', /_versions/)(request),
};

const all = Object.keys(steps).flatMap((step) => [
  { step, when: 'before', mishap: 'hung' } as const,
  { step, when: 'after', mishap: 'unanswered' } as const,
]);
/** Those that leave most behind, where not all are tried. */
const some = ['the completion of the rows before', 'the final name before', 'the removal before'];
const cases = triesAll ? all : all.filter(({ step, when }) => some.includes(`${step} ${when}`));

describe.runIf(hasBuckets)('a gateway that is killed while it uploads an insert', () => {
  let server: BucketServer;
  let redis: RedisServer;
  let gateway: BucketGateway;
  let storage: BucketStorage;
  let rows = 0;

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    redis = await RedisServer.start();
    gateway = await BucketGateway.start(server, redis);
    const place = server.place({ prefix: 'shared' });
    storage = new BucketStorage(place, { spill: await newFolder() });
    expect((await call('create', bodyOf(0, 1))).status).toBe(200);
    rows = 1;
  });
  afterAll(async () => {
    storage?.close();
    await gateway?.stop();
    await redis?.stop();
    await server?.stop();
  });

  const call = (path: string, body: object | Uint8Array = {}) =>
    send(gateway.service.url, `POST /v1/table/t/${path}`, {
      body,
      ...(body instanceof Uint8Array && { headers: ARROW_STREAM }),
    });

  async function count(): Promise<number> {
    const { status, text } = await call('count_rows');
    if (status !== 200) throw new Error(`it answered ${status} ${text}`);
    return Number(text);
  }

  it.each(cases)('$when $step leaves nothing half', async ({ step, mishap }) => {
    const isReached = new Promise<void>((resolve) => {
      gateway.bucket.fate = (request) => {
        if (!steps[step]!(request)) return undefined;
        resolve();
        return mishap;
      };
    });
    const inserted = call('insert', bodyOf(rows, ROWS)).catch(() => undefined);
    await isReached;
    if (mishap === 'unanswered') await gateway.bucket.settled();
    await gateway.service.end('SIGKILL');
    expect((await inserted)?.status ?? 500).not.toBe(200);
    gateway.heal();
    await gateway.service.restart();

    const found = await eventually(count);
    expect([rows, rows + ROWS]).toContain(found);
    rows = found;
    expect((await call('insert', bodyOf(rows, 1))).status).toBe(200);
    rows += 1;
    expect(await count()).toBe(rows);
    await eventually(async () => {
      const { code, err } = await gateway.service.command('catalog', 'gc', '--older-than', '0s');
      expect([code, err]).toEqual([0, '']);
      expect(await unnamed()).toEqual([]);
      expect(await storage.uploads.abandon(() => true, true)).toBe(0);
    });
    expect(await count()).toBe(rows);
  });

  it('and the catalog is as its objects are', async () => {
    expect(await gateway.service.command('catalog', 'verify', '--deep')).toMatchObject({ code: 0 });
  });

  /** The objects of the table that no version names. */
  async function unnamed(): Promise<readonly string[]> {
    const { json } = await call('describe');
    const folder = String(json['location']).slice(`s3://${server.bucket}/shared`.length);
    const names = (inner: string) => storage.names(`${folder}/${inner}`);
    const manifests = await names('_versions');
    const staged = manifests.filter((name) => !/^\d+\.manifest$/.test(name));
    // The newest has the least name, and all files: rows are only added.
    const newest = manifests.toSorted().find((name) => !staged.includes(name));
    const { manifest } = await readManifestFile(storage, `${folder}/_versions/${newest}`);
    const named = manifest.fragments.flatMap(({ files }) => files.map(({ path }) => path));
    return [...staged, ...(await names('data')).filter((name) => !named.includes(name))];
  }
});

function bodyOf(first: number, length: number): Uint8Array {
  const numbers = Array.from({ length }, (_, at) => first + at);
  const table = tableOf([
    { name: 'id', type: new arrow.Int32(), values: numbers },
    { name: 'bytes', type: new arrow.Binary(), values: numbers.map(() => randomBytes(ROW_BYTES)) },
  ]);
  return arrow.tableToIPC(table, 'stream');
}
