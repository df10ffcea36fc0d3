import { describe, expect, it } from 'vitest';
import { ModuleThread, runOnThread } from '../../src/protocol/thread-run.ts';

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

const TASKS = `
  import { parentPort } from "node:worker_threads";
  parentPort.on("message", (task) => {
    if (task === 0) throw new Error("no task");
    if (task === 13) process.exit(13);
    parentPort.postMessage(task + 1);
  });
`;

describe('a thread', () => {
  it('answers one task after the other, until one fails', async () => {
    const thread = new ModuleThread({ module: moduleOf(TASKS), name: 'the sums' });
    expect(await thread.ask(41)).toBe(42);
    expect(await thread.ask(42)).toBe(43);
    await expect(thread.ask(0)).rejects.toThrow('no task');
    await expect(thread.ask(1)).rejects.toThrow(/^the sums (?:has ended|ended with 1)$/);
    await thread.end();
  });

  it('fails the task at which it exits, and all after it', async () => {
    const thread = new ModuleThread({ module: moduleOf(TASKS), name: 'the sums' });
    await expect(thread.ask(13)).rejects.toThrow('the sums ended with 13');
    await expect(thread.ask(1)).rejects.toThrow('the sums has ended');
    await thread.end();
  });
});
