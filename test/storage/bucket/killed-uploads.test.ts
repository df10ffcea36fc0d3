import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BucketStorage } from '../../../src/storage/bucket/bucket-storage.ts';
import { BucketServer, hasBuckets, type BucketServerKind } from '../../support/bucket-server.ts';
import { Child } from '../../support/child.ts';
import { FaultyProxy } from '../../support/faulty-proxy.ts';
import { testFolders } from '../../support/folder.ts';
import { uploadedBytes } from './upload-child.ts';

const newFolder = testFolders();
const kinds: readonly BucketServerKind[] = ['seaweedfs', 'moto'];

/** The requests of an upload in three parts. */
const steps: Readonly<Record<string, (request: IncomingMessage) => boolean>> = {
  'the begin': ({ method, url }) => method === 'POST' && /[?&]uploads/.test(url ?? ''),
  'the first part': ({ method, url }) => method === 'PUT' && /partNumber=1\b/.test(url ?? ''),
  'the last part': ({ method, url }) => method === 'PUT' && /partNumber=3\b/.test(url ?? ''),
  'the completion': ({ method, url }) => method === 'POST' && /uploadId=/.test(url ?? ''),
};

const cases = Object.keys(steps).flatMap((step) => [
  { step, when: 'before', mishap: 'hung' } as const,
  // It takes effect before the writer can know of it.
  { step, when: 'after', mishap: 'unanswered' } as const,
]);

describe.runIf(hasBuckets).each(kinds)('a writer of an upload to %s that is killed', (kind) => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  beforeAll(async () => {
    server = await BucketServer.start(kind);
    proxy = await FaultyProxy.before(server.endpoint);
  });
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });

  it.each(cases)(
    '$when $step leaves nothing or all, and no part',
    async ({ step, when, mishap }) => {
      const spill = await newFolder();
      const place = server.place();
      const storage = new BucketStorage(place, { spill });
      await storage.probe();
      const isReached = new Promise<void>((resolve) => {
        proxy.fate = (request) => {
          if (!steps[step]!(request)) return undefined;
          resolve();
          return mishap;
        };
      });
      const script = new URL('upload-child.ts', import.meta.url);
      const sent = JSON.stringify({ ...place, endpoint: proxy.url });
      const child = new Child(script, [sent, spill, '/folder/large']);
      await isReached;
      if (when === 'after') await proxy.settled();
      await child.kill();
      proxy.fate = () => undefined;
      proxy.release();

      const isWhole = step === 'the completion' && when === 'after';
      const isBegun = step !== 'the begin' || when === 'after';
      expect(await storage.names('/folder')).toEqual(isWhole ? ['large'] : []);
      const left = isBegun && !isWhole ? 1 : 0;
      const isOld = (): boolean => true;
      expect(await storage.uploads.abandon(() => false, false)).toBe(0);
      expect(await storage.uploads.abandon(isOld, true)).toBe(left);
      expect(await storage.uploads.abandon(isOld, false)).toBe(left);
      expect(await storage.uploads.abandon(isOld, false)).toBe(0);
      if (!isWhole) {
        const again = storage.create('/folder/large');
        await again.write([uploadedBytes()]);
        await again.end();
      }
      expect((await storage.read('/folder/large')).equals(uploadedBytes())).toBe(true);
      storage.close();
    },
  );
});
