import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { PolicyDesk } from '../../src/console/policy/desk.ts';
import { entryText } from '../../src/policy/rules-in-force.ts';
import { testFolders } from '../support/folder.ts';

/** The threads that work on policies for the console. */

const newFolder = testFolders();
const desks: PolicyDesk[] = [];
const thread = pathToFileURL(join(process.cwd(), 'dist/cli/service/policy-desk-thread.js'));
const history = { kind: 'history', digest: '', since: '2026-01-01T00:00:00.000000Z' } as const;

afterEach(async () => {
  for (const desk of desks.splice(0)) await desk.close();
});

async function newDesk(options: { readonly millis?: number } = {}): Promise<PolicyDesk> {
  const folder = await newFolder();
  const places = {
    data: folder,
    audit: folder,
    policies: folder,
    certificates: false,
  };
  const desk = new PolicyDesk({
    thread,
    keys: async () => [],
    places,
    failed: () => undefined,
    ...options,
  });
  desks.push(desk);
  return desk;
}

it('works on several tasks at once, and on more after another', async () => {
  const desk = await newDesk();
  const found = await Promise.all(Array.from({ length: 8 }, () => desk.run(history)));
  expect(found.map((json) => JSON.parse(json))).toEqual(found.map(() => ({ events: [] })));
});

it('refuses tasks when many wait', async () => {
  const desk = await newDesk();
  const running = Array.from({ length: 15 }, () => desk.run(history));
  await expect(desk.run(history)).rejects.toThrow('too many questions about the policy');
  expect(await Promise.all(running)).toHaveLength(15);
});

it('ends a task that takes too long, and serves the next one', async () => {
  const desk = await newDesk({ millis: 1 });
  for (let round = 0; round < 2; round++) {
    await expect(desk.run(history)).rejects.toMatchObject({
      row: { code: 13 },
      message: 'the work on the policy took longer than 0.001 s: choose a shorter period',
    });
  }
});

it('ends a task whose caller leaves', async () => {
  const desk = await newDesk();
  const leaving = new AbortController();
  const running = desk.run(history, { signal: leaving.signal });
  leaving.abort();
  await expect(running).rejects.toThrow('the work on the policy was ended');
  expect(JSON.parse(await desk.run(history))).toEqual({ events: [] });
});

it('ends its tasks when the gateway stops', async () => {
  const desk = await newDesk();
  const running = desk.run(history);
  const ended = expect(running).rejects.toThrow('the gateway is stopping');
  await Promise.resolve();
  await desk.close();
  await ended;
});

it.each([
  ['a list that is indented', 'rules:\n  - name: a\n    x: 1\n\n  # about b\n  - name: b\n', 2],
  ['a name that is not the first key', 'rules:\n  - x: 1\n    name: a\n  - name: b\n', 3],
  ['a list without indentation', 'rules:\n- name: a\n  x:\n    - 1\n- name: b\n', 2],
])('finds the text of an entry in %s', (_what, text, line) => {
  const found = entryText(text, line);
  expect(found).toContain('name: a');
  expect(found).toContain('x:');
  expect(found).not.toContain('b');
});
