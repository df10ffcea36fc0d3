import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { randomOf } from '../service/random.ts';
import { Service } from '../support/service.ts';
import { growing, linesOf, readHeld, type Reading } from './readings.ts';
import { Workload } from './workload.ts';

/** How long the service works; a sample unless `ARROWGATE_TEST_SOAK` says how many minutes. */
const MINUTES = Number(process.env['ARROWGATE_TEST_SOAK'] ?? 0.3);
const READINGS = 180;
/** A run of seconds ends before anything is level. */
const JUDGED_MINUTES = 10;
const PAUSE_MILLIS = 150;
const SEED = Date.now() % 2 ** 31;

/** Everything that is kept for a time is kept for a minute at most, and the cache is full soon. */
const config = `
cache: { bytes: 32MiB }
versions: { keep_for: 20s, keep_last: 20 }
drop: { retention: 10s }
idempotence: { window: 1m }
limits: { failed_identifications: null }
audit: { rotate_bytes: 1MiB, retain: 1m }
`;

let service: Service;
let workload: Workload;

beforeEach(async () => {
  service = await Service.start({ config });
  workload = new Workload(service.url, randomOf(SEED));
});

afterEach(async () => {
  workload.close();
  await service.stop();
});

/** Reads what the service holds until a moment, as often as a long run needs. */
async function readings(until: number): Promise<readonly Reading[]> {
  const found: Reading[] = [];
  const pause = ((until - Date.now()) / READINGS) | 0;
  while (Date.now() < until) {
    found.push(await readHeld(service.pid, service.data));
    await sleep(pause);
  }
  return found;
}

it(
  `holds as much after a long time as after a short one (${MINUTES} min, seed ${SEED})`,
  async () => {
    await workload.begin();
    const until = Date.now() + MINUTES * 60_000;
    const [found] = await Promise.all([readings(until), workload.run(until, PAUSE_MILLIS)]);
    console.log([`${workload.done} requests`, ...linesOf(found)].join('\n'));
    await workload.verify();
    expect(MINUTES < JUDGED_MINUTES ? [] : growing(found)).toEqual([]);
    const { code, out, err } = await service.command('catalog', 'verify', '--deep');
    expect({ code, err, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining('nothing is wrong'),
    });
  },
  (MINUTES + 20) * 60_000,
);
