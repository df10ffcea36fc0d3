import { afterEach, expect, it } from 'vitest';
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
  expect(JSON.parse(await trail.run(page))).toEqual({ requests: [], next: null });
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
