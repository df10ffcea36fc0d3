import { readFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BUCKET_CREDENTIALS, BucketServer, hasBuckets } from '../support/bucket-server.ts';
import { makeCertificate } from '../support/certificates.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { testFolders } from '../support/folder.ts';
import { Service } from '../support/service.ts';

const newFolder = testFolders();

describe.runIf(hasBuckets)('object stores of the configuration', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  let authority: string;
  const prepared: Service[] = [];
  beforeAll(async () => {
    server = await BucketServer.start('moto');
  });
  afterAll(() => server.stop());
  afterEach(async () => {
    for (const service of prepared.splice(0)) await service.stop();
    await proxy.close();
  });

  /** A service whose object store is reached over TLS, through a proxy. */
  async function prepare(more: object = {}, trusted = true): Promise<Service> {
    const folder = await newFolder();
    const { cert, key } = await makeCertificate(folder, 'store', { commonName: 'store' });
    const texts = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
    proxy = await FaultyProxy.before(server.endpoint, texts);
    authority = cert;
    const store = server.setting({ endpoint: proxy.url, ...more });
    const { id, secret } = BUCKET_CREDENTIALS;
    const variables = { LAKE_ACCESS_KEY_ID: id, LAKE_SECRET_ACCESS_KEY: secret };
    const service = await Service.prepare({
      config: stringify({ object_stores: [store] }),
      variables: trusted ? { ...variables, NODE_EXTRA_CA_CERTS: authority } : variables,
    });
    prepared.push(service);
    return service;
  }

  it('are tried at the start, over TLS', async () => {
    const service = await prepare();
    await service.restart();
    expect(proxy.requests).toBeGreaterThan(8);
    expect(service.errors).not.toContain('object store');
    const { requests } = proxy;
    const { code, out } = await service.command('check', '--json');
    expect([code, JSON.parse(out).loaded.object_stores]).toEqual([0, { object_stores: 1 }]);
    expect(proxy.requests).toBe(requests + 1);
  });

  it('that are away are reported, and the service starts', async () => {
    const service = await prepare();
    proxy.fate = () => 'busy';
    await service.restart();
    expect(service.errors).toContain('the object store lake is unavailable: SlowDown (503)');
    const { out } = await service.command('check', '--json');
    expect(JSON.parse(out).warnings).toContainEqual(
      expect.stringContaining('the object store lake is unavailable'),
    );
  });

  it('that decide no races keep the service from starting', async () => {
    const service = await prepare();
    proxy.dropped = ['if-none-match'];
    const { code, err } = await service.command('serve', '--port', '0');
    expect(code).toBe(2);
    expect(err).toContain('the object store lake cannot be used: it does not honour conditional');
  });

  it('without a known certificate or a bucket keep the service from starting', async () => {
    const stranger = await prepare({}, false);
    const { code, err } = await stranger.command('serve', '--port', '0');
    expect([code, err]).toEqual([2, expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT')]);
    await proxy.close();
    const elsewhere = await prepare({ url: 's3://another' });
    const { code: other, out } = await elsewhere.command('check');
    expect(other).not.toBe(0);
    expect(out).toContain('the object store lake refuses the gateway: NoSuchBucket (404)');
  });
});
