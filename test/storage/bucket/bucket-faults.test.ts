import type { IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bucketLimits, type BucketLimits } from '../../../src/storage/bucket/bucket-calls.ts';
import { BucketStorage } from '../../../src/storage/bucket/bucket-storage.ts';
import { StorageUnavailable } from '../../../src/storage/storage-error.ts';
import { BucketServer, hasBuckets } from '../../support/bucket-server.ts';
import { casesOf } from '../../support/cases.ts';
import { FaultyProxy, type Mishap } from '../../support/faulty-proxy.ts';
import { testFolders } from '../../support/folder.ts';

const newFolder = testFolders();
const MIB = 2 ** 20;

const isPut = ({ method }: IncomingMessage): boolean => method === 'PUT';
const isConditional = ({ headers }: IncomingMessage): boolean =>
  headers['if-none-match'] !== undefined;
const isAny = (): boolean => true;
const completes = ({ method, url }: IncomingMessage): boolean =>
  method === 'POST' && url?.includes('uploadId=') === true;

describe.runIf(hasBuckets)('faults between the gateway and a bucket', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  const opened: BucketStorage[] = [];
  beforeAll(async () => {
    server = await BucketServer.start('moto');
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultyProxy.before(server.endpoint);
  });
  afterEach(async () => {
    for (const storage of opened.splice(0)) storage.close();
    await proxy.close();
  });

  /** A storage behind the proxy that has passed its probe. */
  async function storageWith(limits: Partial<BucketLimits> = {}): Promise<BucketStorage> {
    const place = server.place({ endpoint: proxy.url, limits: { ...bucketLimits, ...limits } });
    const parts = { first: 5 * MIB, later: 5 * MIB };
    const storage = new BucketStorage(place, { spill: await newFolder(), parts });
    opened.push(storage);
    await storage.probe();
    return storage;
  }

  const harmless: readonly Mishap[] = ['late', 'error', 'busy', 'reset', 'cut', 'lost'];

  it.each(harmless)('a request that meets "%s" is sent again', async (mishap) => {
    const storage = await storageWith();
    const bytes = Buffer.alloc(300_000, 'bytes');
    proxy.next(mishap, isPut, 2);
    await storage.write('/object', bytes);
    proxy.next(mishap, isAny, 2);
    expect((await storage.read('/object')).equals(bytes)).toBe(true);
    proxy.next(mishap, isAny, 2);
    expect(await storage.names('/')).toEqual(['object']);
    proxy.next(mishap, isAny, 2);
    expect((await storage.stat('/object'))?.bytes).toBe(bytes.length);
    proxy.next(mishap, isAny, 2);
    expect(await storage.stat('/missing')).toBeUndefined();
    proxy.next(mishap, isAny, 2);
    await storage.discard('/object');
    expect(await storage.names('/')).toEqual([]);
  });

  it.each<Mishap>(['lost', 'unanswered', 'error', 'reset'])(
    'a name is still given to the writer whose request met "%s"',
    async (mishap) => {
      const storage = await storageWith({ attempt: 3000 });
      proxy.next(mishap, isConditional);
      expect(await storage.putIfAbsent('/name', Buffer.from('first'))).toBe('created');
      proxy.next(mishap, isConditional);
      expect(await storage.putIfAbsent('/name', Buffer.from('second'))).toBe('exists');
      expect((await storage.read('/name')).toString()).toBe('first');
    },
  );

  it('a name that was given by a request without an answer is found at the deadline', async () => {
    const storage = await storageWith({ attempt: 1500, deadline: 4000 });
    let isFirst = true;
    proxy.fate = (request) => {
      if (!isConditional(request)) return undefined;
      const mishap = isFirst ? 'unanswered' : 'hung';
      isFirst = false;
      return mishap;
    };
    expect(await storage.putIfAbsent('/name', Buffer.from('first'))).toBe('created');
    const unknown = storage.putIfAbsent('/other', Buffer.from('never'));
    await expect(unknown).rejects.toThrow('the object store lake is unavailable: ');
    expect(await storage.names('/')).toEqual(['name']);
  });

  it('large objects are completed once, whatever becomes of their requests', async () => {
    const storage = await storageWith();
    const bytes = Buffer.alloc(11 * MIB, 'large');
    for (const mishap of ['lost', 'error', 'reset'] as const) {
      const key = `/${mishap}`;
      proxy.next(mishap, isPut, 2);
      const object = storage.create(key);
      await object.write([bytes]);
      proxy.next(mishap, completes);
      await object.end();
      await object.sync();
      expect((await storage.read(key)).equals(bytes)).toBe(true);
    }
  });

  it('an object that was replaced is not read on', async () => {
    const storage = await storageWith();
    await storage.replace('/object', Buffer.alloc(300_000, 'old'));
    const object = await storage.open('/object');
    await storage.replace('/object', Buffer.alloc(300_000, 'new'));
    const read = object.read(Buffer.alloc(10), 200_000);
    await expect(read).rejects.toMatchObject({ code: 'ESTALE' });
    await storage.discard('/object');
    const gone = object.read(Buffer.alloc(10), 200_000);
    await expect(gone).rejects.toMatchObject({ code: 'ESTALE' });
  });

  it('calls end at their deadline, then are refused at once, until the store is back', async () => {
    const breaker = { failures: 2, open: 5000 };
    const storage = await storageWith({ attempt: 1500, deadline: 3000, breaker });
    proxy.fate = () => 'hung';
    const late = 'no answer in time';
    for (const why of [late, late, 'it failed and is tried again later']) {
      const refusal = storage.stat('/x');
      await expect(refusal).rejects.toThrow(`the object store lake is unavailable: ${why}`);
      await expect(refusal).rejects.toBeInstanceOf(StorageUnavailable);
    }
    const { requests } = proxy;
    await storage.stat('/x').catch(() => undefined);
    expect(proxy.requests).toBe(requests);
    proxy.fate = () => undefined;
    await expect
      .poll(() =>
        storage.stat('/x').then(
          () => 'answered',
          () => 'refused',
        ),
      )
      .toBe('answered');
  });

  it('calls wait for their turn, some of them at the same time', async () => {
    const storage = await storageWith({ connections: 2 });
    await storage.write('/object', Buffer.from('x'));
    proxy.most = 0;
    proxy.fate = () => 'late';
    const ended = await Promise.allSettled(
      Array.from({ length: 40 }, () => storage.stat('/object')),
    );
    expect(proxy.most).toBe(2);
    const refused = ended.filter((each) => each.status === 'rejected');
    expect(refused).toHaveLength(6);
    expect(String(refused[0]?.reason)).toContain(
      'too many requests wait for the object store lake',
    );
    expect(await storage.stat('/object')).toBeDefined();
  });

  it('decide no race wrongly, at random', async () => {
    const storage = await storageWith();
    const chances: readonly (Mishap | undefined)[] = ['lost', 'error', 'busy', 'reset', 'cut'];
    for (let round = 0; round < casesOf(5, 100); round += 1) {
      proxy.fate = () =>
        Math.random() < 0.3 ? chances[Math.floor(Math.random() * chances.length)] : undefined;
      const key = `/round-${round}`;
      const placed = await Promise.all(
        Array.from({ length: 4 }, (_, at) => storage.putIfAbsent(key, Buffer.from(`by ${at}`))),
      );
      proxy.fate = () => undefined;
      expect(placed.filter((each) => each === 'created')).toHaveLength(1);
      expect((await storage.read(key)).toString()).toBe(`by ${placed.indexOf('created')}`);
    }
  });
});
