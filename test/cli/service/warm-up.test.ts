import { pino } from 'pino';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { WarmUp } from '../../../src/cli/service/warm-up.ts';

const log = pino({ level: 'silent' });

/** A gateway that cannot be opened: only whether it is opened matters. */
function composing() {
  return vi.fn(async () => Promise.reject(new Error('not opened')));
}

test('waits while a client is answered and when one has just asked, and begins once nobody does', async () => {
  const traffic = { size: 1, begun: 1 };
  const compose = composing();
  const warmUp = new WarmUp({ traffic, compose, log });
  await sleep(600);
  expect(compose).not.toHaveBeenCalled();
  traffic.size = 0;
  for (let asked = 0; asked < 6; asked++) {
    traffic.begun += 1;
    await sleep(100);
  }
  expect(compose).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(compose).toHaveBeenCalledOnce(), { timeout: 20_000 });
  await warmUp.stop();
});

test('ends without a gateway when it is stopped before', async () => {
  const compose = composing();
  await new WarmUp({ traffic: { size: 1, begun: 1 }, compose, log }).stop();
  expect(compose).not.toHaveBeenCalled();
});
