import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { afterEach, expect, it } from 'vitest';
import { send, sendGranted } from '../service/http.ts';
import { casesOf } from '../support/cases.ts';
import { Service } from '../support/service.ts';
import { flagsOf, type KillPlan } from './kill-plan.ts';
import { listedRows } from '../support/listed-rows.ts';

type Kill = Pick<KillPlan, 'step' | 'when'>;

const steps = ['make list', 'write list', 'flush list', 'flush list folder', 'flush manifest'];

/** The steps of an insert whose version gets a new list of fragments. */
const kills: readonly Kill[] = [
  ...steps.flatMap((step) => [
    { step, when: 'before' as const },
    { step, when: 'after' as const },
  ]),
  { step: 'write list', when: 'within' },
  { step: 'flush journal', when: 'before' },
  { step: 'rename manifest', when: 'before' },
];

const nodeFlags: string[] = [];
let service: Service;
afterEach(() => service.stop());

const flags = (kill: Kill | undefined) => flagsOf(kill && { ...kill, count: 1, since: 'armed' }, 0);

async function values(): Promise<readonly number[]> {
  const body = { k: 1000, vector: [], columns: ['n'] };
  const reply = await send(service.url, 'POST /v1/table/t/query', { body });
  expect(reply.status, reply.text).toBe(200);
  return [...tableFromIPC(reply.bytes).getChild('n')!].map(Number);
}

/** Inserts a row, and has the service killed meanwhile. */
async function insertKilled(value: number, { step, when }: Kill): Promise<void> {
  await send(service.url, 'GET /healthz?armed', { key: null });
  const ended = service.ended();
  const insert = send(service.url, 'POST /v1/table/t/insert', { body: listedRows(value) });
  expect(await insert.catch(() => undefined), `${when} ${step}`).toBeUndefined();
  await ended;
}

it('has the whole version or none after a kill between a list of fragments and its manifest', async () => {
  const some = kills.filter((_, at) => at % Math.ceil(kills.length / casesOf(4, 13)) === 0);
  nodeFlags.push(...flags(some[0]));
  service = await Service.start({ nodeFlags });
  await sendGranted(service.url, 'POST /v1/table/t/create', { body: listedRows(0) });
  const all = [0];
  for (const [at, kill] of some.entries()) {
    await insertKilled(at + 1, kill);
    nodeFlags.splice(0, Infinity, ...flags(some[at + 1]));
    await service.restart();
    const found = await values();
    const expected = found.length === all.length ? all : [...all, at + 1];
    expect(found, `${kill.when} ${kill.step}`).toEqual(expected);
    // Of an insert that a client was not told of, the next one makes the version.
    if (found.length === all.length) {
      await sendGranted(service.url, 'POST /v1/table/t/insert', { body: listedRows(at + 1) });
    }
    all.push(at + 1);
  }
  await service.end();
  const collected = await service.command('catalog', 'gc', '--older-than', '0s');
  expect(collected).toMatchObject({ code: 0, err: '' });
  const verified = await service.command('catalog', 'verify', '--deep', '--json');
  expect(JSON.parse(verified.out)).toMatchObject({ findings: [] });
  const [table = ''] = await readdir(join(service.data, 'tables'));
  const lists = await readdir(join(service.data, 'tables', table, 'fragments'));
  expect(lists).toHaveLength(all.length);
  await service.restart();
  expect(await values()).toEqual(all);
});
