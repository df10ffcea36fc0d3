import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNotes } from '../../src/store/open-notes.ts';
import { notesConformance } from '../conformance/notes.ts';
import { testFolders } from '../support/folder.ts';
import { RedisServer } from '../support/redis-server.ts';

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

  it('are refused while Redis is away', async () => {
    const notes = await openNotes({ redis: redis.url, catalog, folder: '/nowhere' });
    await redis.stop();
    await expect(notes.keep('x', 'y')).rejects.toThrow();
    await notes.close();
    redis = await RedisServer.start();
  });
});
