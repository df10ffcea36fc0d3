import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CopiesTooLarge } from '../../../src/audit/archive/archive-copies.ts';
import { archiveRetention } from '../../../src/audit/archive/archive-retention.ts';
import { listArchive } from '../../../src/audit/archive/archived-objects.ts';
import { archivePolicy, archivedPolicy } from '../../../src/audit/archived-policies.ts';
import { logPartsOf } from '../../../src/audit/segments/log-part.ts';
import { searchRequests } from '../../../src/audit/search/search.ts';
import { MemoryStorage } from '../../../src/storage/memory-storage.ts';
import { readRecords } from '../log-records.ts';
import { testFolders } from '../../support/folder.ts';
import { ArchivingGateway, ROOT, verifyArchive } from './archived-log.ts';

/* Two gateways that share nothing but the storage of their archive. */

const newFolder = testFolders();
let storage: MemoryStorage;
let a: ArchivingGateway;
let b: ArchivingGateway;

beforeEach(async () => {
  storage = new MemoryStorage();
  a = await ArchivingGateway.start(await newFolder(), storage);
  b = await ArchivingGateway.start(await newFolder(), storage);
});

const keysBelow = async (folder: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { path, isFolder } of storage.tree(folder)) if (!isFolder) found.push(path);
  return found.sort();
};
const objects = (): Promise<readonly string[]> => keysBelow(`${ROOT}/instances/${a.log.instance}`);
const named = async (ending: string): Promise<readonly string[]> =>
  (await objects()).filter((key) => key.endsWith(ending));

/** Ids of the requests that a search of the second gateway finds. */
async function found(): Promise<readonly string[]> {
  await b.copies().refresh({});
  const ids: string[] = [];
  for await (const requests of searchRequests(b.folder, {})) {
    ids.push(...requests.map(({ record }) => record.request_id ?? ''));
  }
  return ids.sort();
}

const idsOf = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${name}-${at}`).sort();

async function verified(): Promise<readonly string[]> {
  const { findings } = await verifyArchive(b, storage, [a], join(await newFolder(), 'audit'));
  return findings.map(({ kind }) => kind);
}

/** Writes enough for several files, seals those that are finished, and uploads everything. */
async function archiveSome(): Promise<void> {
  await a.write('r', 40);
  await a.seal();
  await a.log.close();
  await a.upload();
}

describe('unsealed lines', () => {
  it('are found by another gateway, at any number of uploads in few objects', async () => {
    for (let round = 0; round < 30; round++) {
      await a.write(`r${round}`, 1);
      await a.upload();
      const lines = (await named('.jsonl')).filter((key) => key.includes('/00000001-'));
      expect(lines.length).toBeLessThan(8);
      if (round % 7 === 0) await b.copies().refresh({});
    }
    const ids = Array.from({ length: 30 }, (_, round) => `r${round}-0`).sort();
    expect(await found()).toEqual(ids);
    expect(await verified()).toEqual([]);
  });

  it('are replaced by the sealed segment', async () => {
    await a.write('r', 40);
    await a.upload();
    expect(await named('.arrow')).toEqual([]);
    expect(await found()).toEqual(idsOf('r', 40));
    await a.seal();
    await a.upload();
    const segments = await named('.arrow');
    expect(segments.length).toBeGreaterThan(2);
    expect((await named('.jsonl')).filter((key) => key.includes('/00000001-'))).toEqual([]);
    expect(await found()).toEqual(idsOf('r', 40));
    await a.log.close();
    await a.upload();
    expect(await verified()).toEqual([]);
  });

  it('are there after the gateway and its folder are gone', async () => {
    await a.write('r', 10);
    await a.log.close();
    await a.upload();
    await rm(a.folder, { recursive: true });
    expect(await found()).toEqual(idsOf('r', 10));
    expect(await verified()).toEqual([]);
  });
});

it('uploads go on where a process was killed, or a request failed', async () => {
  await a.write('r', 20);
  await a.seal();
  const put = storage.putIfAbsent.bind(storage);
  for (let failing = 0; failing < 12; failing++) {
    let puts = 0;
    storage.putIfAbsent = async (...object) => {
      puts += 1;
      if (puts <= failing) return put(...object);
      // It may have taken effect.
      if (failing % 2 === 0) await put(...object);
      throw new Error('away');
    };
    await a.upload().catch(() => undefined);
    storage.putIfAbsent = put;
    await a.write(`s${failing}`, 1);
  }
  await a.log.close();
  await a.upload();
  const written = [...idsOf('r', 20), ...Array.from({ length: 12 }, (_, at) => `s${at}-0`)].sort();
  expect(await found()).toEqual(written);
  expect(await verified()).toEqual([]);
});

describe('tampering with the archive is found', () => {
  beforeEach(archiveSome);

  it('nothing was done', async () => {
    expect(await verified()).toEqual([]);
  });

  it('a segment that was cut', async () => {
    const [key = ''] = await named('.arrow');
    const bytes = await storage.read(key);
    await storage.replace(key, bytes.subarray(0, bytes.length - 100));
    expect(await verified()).toEqual(['edited']);
  });

  it('a segment that was swapped for another', async () => {
    const [first = '', second = ''] = await named('.arrow');
    await storage.replace(first, await storage.read(second));
    expect(await verified()).toHaveLength(1);
  });

  it('a segment that is missing, which a search says as well', async () => {
    const [key = ''] = await named('.arrow');
    storage.discard(key);
    expect(await verified()).toEqual(['removed']);
    await expect(found()).rejects.toThrow(
      `the segment ${a.log.instance}/00000001.arrow is missing in the archive, but its seal is there`,
    );
  });

  it('a seal that is missing with its segment', async () => {
    const [key = ''] = await named('.seal');
    storage.discard(key);
    storage.discard(key.replace('seal', 'arrow'));
    expect(await verified()).toEqual(['removed']);
  });

  it('lines that are missing at the end', async () => {
    for (const key of await named('.jsonl')) storage.discard(key);
    expect(await verified()).toEqual(['cut short']);
  });

  it('a line that was edited', async () => {
    const last = (await named('.jsonl')).at(-1) ?? '';
    const text = (await storage.read(last)).toString();
    await storage.replace(last, Buffer.from(text.replace('DescribeTable', 'DescribeTablf')));
    expect(await verified()).toEqual(['edited']);
  });

  it('everything but the checkpoint is missing', async () => {
    for (const key of await objects())
      if (key.endsWith('l') || key.endsWith('w')) storage.discard(key);
    expect(await verified()).toEqual(['cut short']);
  });
});

describe('copies', () => {
  beforeEach(archiveSome);

  it('request each object once', async () => {
    const copies = b.copies();
    await copies.refresh({});
    const read = storage.read.bind(storage);
    const open = storage.open.bind(storage);
    let requests = 0;
    storage.read = (...key) => {
      requests += 1;
      return read(...key);
    };
    storage.open = (...key) => {
      requests += 1;
      return open(...key);
    };
    await copies.refresh({});
    await b.copies().refresh({});
    expect(requests).toBe(0);
  });

  it('stay within their size, and refuse a period that needs more', async () => {
    const sizes = await Promise.all(
      (await named('.arrow')).map(async (key) => (await storage.read(key)).length),
    );
    const most = Math.max(...sizes);
    const copies = b.copies(most + 1);
    await expect(copies.refresh({})).rejects.toThrow(CopiesTooLarge);
    await copies.list();
    for (const number of sizes.keys()) {
      const inner = join(b.folder, '../audit-copies', a.log.instance);
      const name = `${String(number + 1).padStart(8, '0')}.arrow`;
      await copies.bringPath(join(inner, name));
      const there = (await readdir(inner)).filter((each) => each.endsWith('.arrow'));
      expect(there).toEqual([name]);
    }
  });

  it('have the policies of other gateways', async () => {
    const digest = 'f'.repeat(64);
    await archivePolicy(a.folder, digest, [{ name: 'policy.csv', text: 'p, role:a, *, *, allow' }]);
    await a.upload();
    await b.copies().refresh({});
    const folder = archivedPolicy(b.folder, digest);
    expect(await readdir(folder)).toEqual(['policy.csv']);
    expect(archivedPolicy(a.folder, digest).startsWith(a.folder)).toBe(true);
  });

  it('are no instances of this gateway', async () => {
    await b.copies().refresh({});
    const before = await objects();
    await b.upload();
    expect((await b.seal()).sealed).toBe(0);
    expect(await objects()).toEqual(before);
  });
});

describe('retention', () => {
  it('removes nothing that is not archived', async () => {
    await a.write('r', 40);
    await a.seal();
    const late = { retainMillis: -1 };
    const mayRetire: Parameters<typeof a.seal>[0] = {
      ...late,
      mayRetire: (instance, file) => a.uploads.has(instance, file),
    };
    expect((await a.seal(mayRetire)).retired).toBe(0);
    await a.upload();
    expect((await a.seal(mayRetire)).retired).toBeGreaterThan(2);
    await a.log.close();
    await a.upload();
    expect(await named('.arrow')).toEqual([]);
    expect(await verified()).toEqual([]);
  });

  it('removes segments of gateways that are gone', async () => {
    await archiveSome();
    const { folder, key } = b;
    const options = { storage, root: ROOT, folder, key };
    await archiveRetention({ ...options, retainMillis: 1e12 });
    expect((await named('.arrow')).length).toBeGreaterThan(2);
    await archiveRetention({ ...options, retainMillis: -1e6 });
    expect(await named('.arrow')).toEqual([]);
    expect(await verified()).toEqual([]);
    await b.copies().refresh({});
    expect((await logPartsOf(b.folder)).every(({ file }) => file.kind === 'lines')).toBe(true);
    for await (const each of readRecords(b.folder)) expect(each.instance).toBe(a.log.instance);
  });
});

it('holds no private key', async () => {
  await archiveSome();
  const { keys } = await listArchive(storage, ROOT);
  expect([...keys.keys()]).toEqual([a.key.public.id]);
  for (const key of await keysBelow(ROOT)) {
    expect((await storage.read(key)).toString()).not.toContain('PRIVATE');
  }
});
