import { afterEach, expect, it } from 'vitest';
import { limitLevels } from '../../src/gateway/limit-levels.ts';
import { ADMIN, start, type Harness } from './harness.ts';

let harness: Harness;

afterEach(() => harness.close());

const QUERY = '/v1/table/prod$t/query';

function ask(path: string): Promise<Response> {
  return fetch(new URL(path, harness.url), {
    method: 'POST',
    headers: { 'x-api-key': ADMIN },
    body: '{}',
  });
}

it('a subject runs sixteen scans at once; the next is told of limits.scans, others pass', async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let running = 0;
  harness = await start({
    handle: async ({ operation }) => {
      if (operation.name === 'QueryTable') {
        running += 1;
        await finished;
      }
      return { status: 200, contentType: 'application/json', body: '{}' };
    },
  });
  const scans = Array.from({ length: 16 }, () => ask(QUERY));
  await expect.poll(() => running, { timeout: 20_000 }).toBe(16);
  const refused = await ask(QUERY);
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    {
      code: 21,
      error:
        'the limit limits.scans (16 that run at once, per subject) is reached: try again in 1 s',
    },
  ]);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('ratelimit-policy')).toBe(
    '"limits.scans:concurrency";q=16;qu="concurrent-requests"',
  );
  expect((await ask('/v1/table/prod$t/describe')).status).toBe(200);
  const level = { limit: 'limits.scans', per: 'subject', value: 'user:admin', concurrency: 16 };
  const levels = (reader: string) => limitLevels(harness.gateway, reader);
  expect(await levels('user:eve')).toMatchObject({ levels: [{ ...level, in_flight: 16 }] });
  // Who looks runs a scan by that, which is not shown.
  expect(await levels('user:admin')).toMatchObject({ levels: [{ ...level, in_flight: 15 }] });
  finish();
  expect((await Promise.all(scans)).map(({ status }) => status)).toEqual(Array(16).fill(200));
  expect((await ask(QUERY)).status).toBe(200);
  await expect.poll(async () => (await levels('user:eve')).total).toBe(0);
});
