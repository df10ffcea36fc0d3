import { afterEach, expect, it } from 'vitest';
import { tableFromIPC } from 'apache-arrow';
import { timeOf } from '../../src/audit/record/time.ts';
import { endOfRequests } from '../../src/audit/search/request-stream.ts';
import { openAuditLog } from '../../src/audit/writer.ts';
import { record } from '../audit/records.ts';
import { Trail } from '../../src/console/trail/trail.ts';
import { testFolders } from '../support/folder.ts';

/** The thread that reads the audit log for the console. */

const newFolder = testFolders();
const trails: Trail[] = [];
const page = { kind: 'page', filter: {}, limit: 10, except: '' } as const;

afterEach(async () => {
  for (const trail of trails.splice(0)) await trail.close();
});

async function newTrail(options: { readonly millis?: number } = {}): Promise<Trail> {
  const trail = new Trail({ folder: await newFolder(), failed: () => undefined, ...options });
  trails.push(trail);
  return trail;
}

it('finds nothing in an empty log', async () => {
  const trail = await newTrail();
  expect(JSON.parse(await trail.run(page))).toEqual({ requests: [], next: null, hint: null });
});

it('writes an Arrow stream in parts', async () => {
  const folder = await newFolder();
  const log = await openAuditLog({ folder, rotateBytes: 100_000 });
  for (let at = 0; at < 5; at++) {
    const time = timeOf(BigInt(Date.now() - 10_000 + at) * 1000n);
    await log.write(
      record(`r${at}`, { time, subject: `user:u${at}`, object: `/t${at % 2}` }),
      true,
    );
  }
  await log.close();
  const trail = new Trail({ folder, failed: () => undefined });
  trails.push(trail);
  const parts: Buffer[] = [];
  let next: string | null = null;
  do {
    const [began = '', decisionId = ''] = (next ?? '').split('.');
    const after = next === null ? undefined : { began, decisionId };
    const task = { filter: {}, limit: 2, except: '', after };
    const json = await trail.run({ kind: 'arrow', stream: 'one', page: task });
    const part = JSON.parse(json) as { readonly next: string | null; readonly bytes: string };
    parts.push(Buffer.from(part.bytes, 'base64'));
    next = part.next;
  } while (next !== null);
  expect(parts).toHaveLength(3);
  const table = tableFromIPC(Buffer.concat([...parts, endOfRequests]));
  expect([...table.getChild('subject')!]).toEqual([4, 3, 2, 1, 0].map((at) => `user:u${at}`));
  expect([...table.getChild('object')!]).toEqual(['/t0', '/t1', '/t0', '/t1', '/t0']);
  const after = { began: '1', decisionId: 'x' };
  const lost = { kind: 'arrow', stream: 'two', page: { ...page, after } } as const;
  await expect(trail.run(lost)).rejects.toThrow('the export was broken off: begin it again');
});

it('ends a search that takes too long, and serves the next one', async () => {
  const trail = await newTrail({ millis: 1 });
  await expect(trail.run(page)).rejects.toMatchObject({
    row: { code: 13 },
    message: 'the search of the audit log took longer than 0.001 s: choose a shorter period',
  });
  await expect(trail.run(page)).rejects.toThrow('choose a shorter period');
});

it('refuses searches when many wait', async () => {
  const trail = await newTrail();
  const waiting = Array.from({ length: 16 }, () => trail.run(page));
  expect(() => trail.run(page)).toThrow('too many searches of the audit log are running');
  expect(await Promise.all(waiting)).toHaveLength(16);
  await trail.run(page);
});

it('fails what waits when it is closed', async () => {
  const trail = await newTrail();
  const waiting = trail.run(page);
  await trail.close();
  await expect(waiting).rejects.toThrow('the gateway is stopping');
});
