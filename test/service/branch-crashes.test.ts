import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { BranchLedger } from './branch-ledger.ts';
import { randomOf } from './random.ts';
import { casesOf } from '../support/cases.ts';

const KILLS = casesOf(4, 8);
const seed = Date.now() % 2 ** 31;

let service: Service;
afterEach(() => service.stop());

/** Lives one life after the other until the connection is lost. */
async function untilCut(ledger: BranchLedger, url: string): Promise<void> {
  try {
    for (;;) await ledger.live(url);
  } catch (error) {
    const cut = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'];
    if (!(error instanceof Error && 'code' in error && cut.includes(String(error.code))))
      throw error;
  }
}

describe('SIGKILL while branches are made, written to and deleted', () => {
  it(`leaves each whole or not there, and readable (seed ${seed})`, async () => {
    const random = randomOf(seed);
    const ledgers = ['a', 'b', 'c'].map((table) => new BranchLedger(table));
    service = await Service.start();
    for (const ledger of ledgers) await ledger.create(service.url);
    let lives = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const { url } = service;
      const before = lives;
      const running = Promise.all(ledgers.map((ledger) => untilCut(ledger, url)));
      // At least one life is over, however slow the machine is.
      do {
        await sleep(30 + random(300));
        lives = ledgers.reduce((sum, ledger) => sum + ledger.lives, 0);
      } while (lives === before);
      await service.end('SIGKILL');
      await running;
      await service.restart();
      for (const ledger of ledgers) await ledger.check(service.url);
    }
    expect(lives).toBeGreaterThanOrEqual(KILLS);
    for (const ledger of ledgers) await ledger.clear(service.url);
  });
});
