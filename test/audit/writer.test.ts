import { appendFile, readFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { LogDamage } from './log-records.ts';
import { verifyLog } from '../../src/audit/verification/verification.ts';
import { readTrustedCheckpoints } from '../../src/audit/checkpoints/trusted.ts';
import { openAuditLog } from '../../src/audit/writer.ts';
import { Child, outputOnSmallDisk } from '../support/child.ts';
import { countFlushes } from '../support/datasync.ts';
import { testFolders } from '../support/folder.ts';
import { readAll, record } from './records.ts';
import { PATIENCE_MILLIS } from '../support/eventually.ts';

const CHILD = new URL('./write-child.ts', import.meta.url);
const ROTATE = 2 ** 20;
const newFolder = testFolders();

async function ids(folder: string): Promise<readonly string[]> {
  return (await readAll(folder)).map(({ request_id }) => request_id);
}

async function verified(folder: string) {
  return verifyLog(folder, await readTrustedCheckpoints([], []));
}

describe('the audit log', () => {
  it('has a durable record on disk when the write resolves', async () => {
    const folder = join(await newFolder(), 'private', 'audit');
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    await log.write(record('r1'), true);
    expect(await readAll(folder)).toMatchObject([{ ...record('r1'), sequence: 1n }]);
    expect(log.healthy()).toBeUndefined();
    await log.close();
  });

  it('is for its user alone', async () => {
    const folder = join(await newFolder(), 'audit');
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    await log.write(record('r1'), true);
    const [instance] = await readdir(folder);
    const inner = join(folder, instance!);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(inner)).mode & 0o777).toBe(0o700);
    expect((await stat(join(inner, '00000001.jsonl'))).mode & 0o777).toBe(0o600);
    await log.close();
  });

  it('shares one flush among records that come together', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    const flushes = await countFlushes(async () => {
      await Promise.all(
        Array.from({ length: 1000 }, async (_, i) => log.write(record(`r${i}`), true)),
      );
    });
    expect(flushes).toBe(1);
    expect(await ids(folder)).toEqual(Array.from({ length: 1000 }, (_, i) => `r${i}`));
    await log.close();
  });

  it('writes a record that nobody waits for soon, and at the latest with the next durable one', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    const flushes = await countFlushes(async () => {
      await log.write(record('r1'), false);
      await vi.waitFor(async () => expect(await ids(folder)).toEqual(['r1']), {
        timeout: PATIENCE_MILLIS,
      });
    });
    expect(flushes).toBe(0);
    await log.write(record('r2'), false);
    await log.write(record('r3'), true);
    expect(await ids(folder)).toEqual(['r1', 'r2', 'r3']);
    await log.close();
  });

  it('keeps the order of records of any length, whether somebody waits for them or not', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    const given: string[] = [];
    for (let index = 0; index < 400; index++) {
      const id = `${index}-${index % 50 === 7 ? 'ä€😀'.repeat(20_000) : 'é'.repeat(index)}`;
      given.push(id);
      const written = log.write(record(id), index % 90 === 89);
      if (index % 180 === 89) await written;
    }
    await log.close();
    expect(await ids(folder)).toEqual(given);
    expect(await verified(folder)).toMatchObject({ findings: [], records: 400n });
  });

  it('has each record as it was when it was given, in the order of all of them', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    const rights = [{ action: 'read', branch: null, objects: ['/prod/orders'] }];
    for (let index = 0; index < 200; index += 1) {
      await log.write(record(`r${index}`, index % 3 === 1 ? { rights } : {}), false);
    }
    rights.push({ action: 'append', branch: null, objects: [] });
    await log.close();
    const records = await readAll(folder);
    expect(records.map(({ request_id }) => request_id)).toEqual(
      Array.from({ length: 200 }, (_, index) => `r${index}`),
    );
    expect(new Set(records.map((each) => each.rights.length))).toEqual(new Set([0, 1]));
    expect(await verified(folder)).toMatchObject({ findings: [], records: 200n });
  });

  it('begins a new file when one is full, and numbers records without a gap', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: 2000 });
    for (let index = 0; index < 20; index++) await log.write(record(`r${index}`), index % 3 === 0);
    await log.close();
    const [instance] = await readdir(folder);
    const files = await readdir(join(folder, instance!));
    expect(files.length).toBeGreaterThan(3);
    expect(files.toSorted()[1]).toBe('00000002.jsonl');
    const records = await readAll(folder);
    expect(records.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 20 }, (_, index) => BigInt(index + 1)),
    );
    expect(new Set(records.map((each) => each.instance))).toEqual(new Set([instance]));
  });

  it('gives each start an instance of its own, in the order of the starts', async () => {
    const folder = await newFolder();
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-01-31T23:59:58Z') });
    try {
      for (const id of ['first', 'second', 'third']) {
        const log = await openAuditLog({ folder, rotateBytes: ROTATE });
        await log.write(record(id), true);
        await log.close();
        vi.setSystemTime(Date.now() + 1000);
      }
    } finally {
      vi.useRealTimers();
    }
    expect(await ids(folder)).toEqual(['first', 'second', 'third']);
    const instances = (await readAll(folder)).map(({ instance }) => instance);
    expect(instances[0]).toMatch(/^20260131T235958Z-[0-9a-f]{8}$/);
    expect(new Set(instances).size).toBe(3);
  });

  it('writes everything when it is closed', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    for (let index = 0; index < 100; index++) await log.write(record(`r${index}`), false);
    await log.close();
    expect(await ids(folder)).toHaveLength(100);
    await expect(log.write(record('late'), true)).rejects.toThrow('the log is closed');
  });
});

describe('the audit log of a process that is killed', () => {
  it('has every record that was acknowledged, and at most a torn end beside', async () => {
    const folder = await newFolder();
    const acknowledged: string[] = [];
    for (let round = 0; round < 6; round++) {
      const child = new Child(CHILD, [folder, `r${round}`]);
      await child.printed(10 + round * 100);
      await child.kill();
      acknowledged.push(...child.lines);
    }
    const found = await ids(folder);
    const known = new Set(found);
    expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
    expect(known.size).toBe(found.length);
  });
});

describe('the audit log when it cannot be written', () => {
  it('refuses durable records and says why, keeps the others, and recovers by itself', async () => {
    const folder = join(await newFolder(), 'audit');
    const log = await openAuditLog({ folder, rotateBytes: 1 });
    await log.write(record('r1'), true);
    await rename(folder, `${folder}-away`);
    await expect(log.write(record('refused'), true)).rejects.toThrow('cannot be written: ENOENT');
    expect(log.healthy()).toMatch(/^\/.*\/audit\/\S+ cannot be written: ENOENT: no such file/);
    await log.write(record('kept'), false);
    await rename(`${folder}-away`, folder);
    await vi.waitFor(() => expect(log.healthy()).toBeUndefined(), { timeout: PATIENCE_MILLIS });
    await log.write(record('r2'), true);
    const records = await readAll(folder);
    expect(records.map(({ request_id, sequence }) => `${sequence} ${request_id}`)).toEqual([
      '1 r1',
      '2 kept',
      '3 r2',
    ]);
    await log.close();
  });

  it('links what was kept meanwhile anew, behind what the disk took', async () => {
    const folder = join(await newFolder(), 'audit');
    const log = await openAuditLog({ folder, rotateBytes: 2 ** 15 });
    await log.write(record('r0'), true);
    for (let index = 1; index < 100; index++) await log.write(record(`r${index}`), false);
    await rename(folder, `${folder}-away`);
    for (let index = 100; index < 500; index++) await log.write(record(`r${index}`), false);
    await expect(log.write(record('refused'), true)).rejects.toThrow('cannot be written: ENOENT');
    for (let index = 500; index < 600; index++) await log.write(record(`r${index}`), false);
    await rename(`${folder}-away`, folder);
    await vi.waitFor(() => expect(log.healthy()).toBeUndefined(), { timeout: PATIENCE_MILLIS });
    await log.write(record('r600'), true);
    await log.close();
    expect(await ids(folder)).toEqual(Array.from({ length: 601 }, (_, index) => `r${index}`));
    expect(await verified(folder)).toMatchObject({ findings: [], records: 601n });
  });

  it('leaves whole records behind when the disk takes only a part', async () => {
    const folder = await newFolder();
    const lines = await outputOnSmallDisk(CHILD, 16, [folder, 'r']);
    expect(lines.pop()).toMatch(/^! .* cannot be written: EFBIG: file too large, write$/);
    expect(lines.length).toBeGreaterThan(5);
    expect((await ids(folder)).filter((id) => !id.endsWith('lazy'))).toEqual(lines);
    const [instance] = await readdir(folder);
    const text = await readFile(join(folder, instance!, '00000001.jsonl'), 'utf8');
    expect(text.endsWith('}\n')).toBe(true);
  });

  it('does not open where no folder can be made', async () => {
    const file = join(await newFolder(), 'file');
    await writeFile(file, '');
    await expect(openAuditLog({ folder: file, rotateBytes: ROTATE })).rejects.toMatchObject({
      code: 'ENOTDIR',
    });
  });
});

describe('the reader of the audit log', () => {
  async function written(): Promise<{ folder: string; file: string }> {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    for (const id of ['r1', 'r2', 'r3']) await log.write(record(id), true);
    await log.close();
    const [instance] = await readdir(folder);
    return { folder, file: join(folder, instance!, '00000001.jsonl') };
  }

  it('passes over a torn end', async () => {
    const { folder, file } = await written();
    await appendFile(file, '{"instance":"x","seq');
    expect(await ids(folder)).toEqual(['r1', 'r2', 'r3']);
  });

  it('stops at any other damage, and names the line', async () => {
    const { folder, file } = await written();
    const lines = (await readFile(file, 'utf8')).split('\n');
    lines[1] = lines[1]!.slice(0, 50);
    await writeFile(file, lines.join('\n'));
    await expect(readAll(folder)).rejects.toThrow(new LogDamage(file, 2, 'the line is not JSON'));
  });

  it('finds nothing where nothing was written', async () => {
    const folder = await newFolder();
    const log = await openAuditLog({ folder, rotateBytes: ROTATE });
    await log.close();
    await writeFile(join(folder, 'notes.txt'), 'not an instance');
    expect(await readAll(folder)).toEqual([]);
  });
});
