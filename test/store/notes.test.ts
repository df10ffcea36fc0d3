import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNotes } from '../../src/store/open/open-store.ts';
import { notesConformance } from '../conformance/notes.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { RedisServer } from '../support/redis-server.ts';
import { SilentProxy } from '../support/silent-proxy.ts';

const newFolder = testFolders();
let redis: RedisServer;

beforeAll(async () => {
  redis = await RedisServer.start();
});

afterAll(() => redis.stop());

describe('notes in a folder', () => {
  let folder: string | undefined;
  notesConformance(async () => {
    folder ??= await newFolder();
    return openNotes({ redis: null, catalog: 'default', folder: join(folder, 'store') });
  });
});

describe('notes in Redis', () => {
  const catalog = randomUUID();
  notesConformance(() => openNotes({ redis: redis.url, catalog, folder: '/nowhere' }));

  it('go on by another connection when one falls silent', async () => {
    const proxy = await SilentProxy.before(redis.port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const notes = await openNotes({ redis: url, catalog, folder: '/nowhere' });
    try {
      await notes.keep('one', 'before');
      proxy.silence();
      await expect(notes.keep('one', 'after')).rejects.toThrow();
      await eventually(() => notes.keep('one', 'after'));
      expect(await notes.get('one')).toBe('after');
      expect(proxy.connections).toBeGreaterThan(1);
      await notes.remove('one');
    } finally {
      await notes.close();
      await proxy.close();
    }
  });

  it('are refused while Redis is away', async () => {
    const notes = await openNotes({ redis: redis.url, catalog, folder: '/nowhere' });
    await redis.stop();
    await expect(notes.keep('x', 'y')).rejects.toThrow();
    await notes.close();
    redis = await RedisServer.start();
  });
});
