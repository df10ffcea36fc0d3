import { describe, expect, it } from 'vitest';
import { runOnThread } from '../../src/protocol/thread-run.ts';

/** A module of a text. */
function moduleOf(text: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

const POST =
  'import { parentPort, workerData } from "node:worker_threads"; parentPort.postMessage(workerData + 1);';
const HANG = 'setInterval(() => undefined, 1000);';

describe('a run on a thread', () => {
  it('gives the message of the module', async () => {
    const run = { module: moduleOf(POST), data: 41, name: 'the sum' };
    expect(await runOnThread(run)).toBe(42);
  });

  it.each([
    ['throw new Error("no such sum");', 'no such sum'],
    ['process.exit(3);', 'the sum ended with 3'],
    ['', 'the sum ended with 0'],
  ])('fails when the thread ends early: %s', async (text, error) => {
    const run = { module: moduleOf(text), data: null, name: 'the sum' };
    await expect(runOnThread(run)).rejects.toThrow(error);
  });

  it('ends a thread that takes too long, or that nobody needs any more', async () => {
    const run = { module: moduleOf(HANG), data: null, name: 'the sum' };
    await expect(runOnThread({ ...run, millis: 50 })).rejects.toThrow('took longer than 50 ms');
    const stopping = new AbortController();
    const stopped = runOnThread({ ...run, signal: stopping.signal });
    stopping.abort();
    await expect(stopped).rejects.toThrow('the sum was stopped');
    await expect(runOnThread({ ...run, signal: stopping.signal })).rejects.toThrow('abort');
  });
});
