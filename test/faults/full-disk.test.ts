import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { range } from '../service/insert-ledger.ts';
import { randomOf } from '../service/random.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { engineKind } from './engine-kind.ts';
import { Writers } from './writers.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
const WRITERS = 4;
const ROUNDS = casesOf(2, 4);

let service: Service;
let redis: RedisServer | undefined;
afterEach(async () => {
  await service.stop();
  await redis?.stop();
  redis = undefined;
});

/** Bounds the size of every file of the service, in bytes, in place of a full disk. */
async function limitFiles(bytes: number | 'unlimited'): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
}

describe('a disk that refuses writes for a while', () => {
  it.each([
    ['the embedded store', false],
    ['Redis', true],
  ])(
    `costs no acknowledged change and no restart on %s (seed ${SEED})`,
    async (_, onRedis) => {
      redis = onRedis ? await RedisServer.start() : undefined;
      service = await Service.start({ flags: redis === undefined ? [] : ['--redis', redis.url] });
      const random = randomOf(SEED);
      const writers = new Writers(engineKind, 't', random);
      await writers.create(service.url);
      for (let round = 0; round < ROUNDS; round++) {
        const { acknowledged } = writers.accounts;
        const stop = new AbortController();
        const working = range(WRITERS).map(() => writers.work(service.url, stop.signal));
        await waitUntil(() => writers.accounts.acknowledged > acknowledged);
        await sleep(random(200));
        await limitFiles(random(2) === 0 ? 512 : 4096 + random(2 ** 15));
        await sleep(200 + random(600));
        if (round === ROUNDS - 1) {
          await service.end('SIGKILL');
          await service.restart();
        } else {
          await limitFiles('unlimited');
          // A log that could not be written is tried again a second later.
          await sleep(1500);
        }
        stop.abort();
        await Promise.all(working);
        expect(await writers.faults(service.url, false)).toEqual([]);
      }
      expect(await writers.faults(service.url, true)).toEqual([]);
      expect(writers.accounts.unanswered).toBeGreaterThan(0);
    },
    120_000,
  );
});
