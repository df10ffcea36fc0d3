import { expect, it } from 'vitest';
import { RecoveryRounds } from '../../../src/cli/service/recovery-rounds.ts';
import { eventually } from '../../support/eventually.ts';

it('work that fails is tried again, and a series of failures is reported once', async () => {
  const failures: unknown[] = [];
  let rounds = 0;
  const work = async (): Promise<void> => {
    rounds += 1;
    if (rounds === 2 || rounds === 3 || rounds === 5) throw new Error(`round ${rounds}`);
  };
  const recovery = new RecoveryRounds(work, (error) => failures.push(error), 1);
  await eventually(() => expect(rounds).toBeGreaterThan(5));
  await recovery.stop();
  const after = rounds;
  expect(failures).toEqual([new Error('round 2'), new Error('round 5')]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(rounds).toBe(after);
});

it('a stop ends the round in progress, and waits for its end', async () => {
  let [begun, ended] = [false, false];
  const recovery = new RecoveryRounds(
    async (signal) => {
      begun = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended = true;
    },
    () => undefined,
    1,
  );
  await eventually(() => expect(begun).toBe(true));
  await recovery.stop();
  expect(ended).toBe(true);
});
