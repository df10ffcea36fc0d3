import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { meterOf } from '../../../src/cli/output/output.ts';

/** The notes of a meter, which is called until it has reported some times. */
async function reported(times: number, watched: boolean, total?: number): Promise<string[]> {
  const notes: string[] = [];
  const output = {
    line: () => undefined,
    bytes: async () => true,
    note: (text: string) => void notes.push(text),
    watched,
  };
  const meter = meterOf(output, 'records', { shortMillis: 0, ...(total && { total }) });
  for (let done = 1; notes.length < times && done < 400; done++) {
    meter(BigInt(done));
    await sleep(5);
  }
  return notes;
}

it('reports the number, the rate, and the time left of a known total', async () => {
  const notes = await reported(2, true, 1_000_000);
  for (const note of notes) {
    expect(note).toMatch(/^[\d,]+ records, [\d,]+ a second, \d+ (s|min) left$/);
  }
  expect(notes.length).toBe(2);
});

it('knows no time left without a total, nor beyond it', async () => {
  expect((await reported(1, true))[0]).toMatch(/^[\d,]+ records, [\d,]+ a second$/);
  expect((await reported(2, true, 1))[1]).toMatch(/ a second$/);
});

it('reports nothing where nobody watches', async () => {
  expect(await reported(1, false)).toEqual([]);
});
