import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tableFiles } from '../support/dropped.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { casesOf } from '../support/cases.ts';

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

let service: Service;

const body = tableToIPC(new Table({ n: vectorFromArray([1n, 2n], new Int64()) }), 'stream');
const create = (name: string) => send(service.url, `POST /v1/table/${name}/create`, { body });
const drop = (name: string) => send(service.url, `POST /v1/table/${name}/drop`);
const count = async (name: string) =>
  (await send(service.url, `POST /v1/table/${name}/count_rows`, { body: {} })).text;
const catalog = (...words: readonly string[]) => service.command('catalog', ...words);
const folders = () => readdir(join(service.data, 'tables'));

/** The flags under which nothing is kept. */
async function forgetful(): Promise<readonly string[]> {
  const path = join(service.folder, 'forgetful.yaml');
  await writeFile(path, 'drop: { retention: 1ms }\n');
  return ['--config', path];
}

beforeEach(async () => {
  service = await Service.start();
  await create('t');
});

afterEach(() => service.stop());

it('brings back, collects and verifies beside a gateway that runs', async () => {
  await send(service.url, 'POST /v1/table/t/tags/create', { body: { tag: 'v', version: 1 } });
  await drop('t');
  expect(await catalog('undrop', '/t')).toMatchObject({ code: 0, err: '' });
  expect(await count('t')).toBe('2');
  const tags = await send(service.url, 'POST /v1/table/t/tags/list');
  expect(tags.json).toMatchObject({ tags: { v: { version: 1 } } });
  await create('x');
  await drop('x');
  expect(await catalog('gc', ...(await forgetful()))).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^removed 1 dropped table, 2 files, \d+ bytes\n$/),
  });
  expect(await catalog('verify')).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining(': nothing is wrong\n'),
  });
  expect(await folders()).toHaveLength(1);
});

/** Kills a collection as soon as it has removed something. */
async function killMidway(flags: readonly string[]): Promise<void> {
  const words = ['catalog', 'gc', ...flags, '--data', service.data];
  const before = (await folders()).length;
  const collection = spawn(process.execPath, [MAIN, ...words], { stdio: 'ignore' });
  const closed = once(collection, 'close');
  while (collection.exitCode === null && (await folders()).length === before) await sleep(1);
  collection.kill('SIGKILL');
  await closed;
}

it('leaves nothing by halves when a collection is killed midway', async () => {
  const standing = await tableFiles(service.data);
  const names = Array.from({ length: casesOf(120, 300) }, (_, at) => `gone${at}`);
  for (let at = 0; at < names.length; at += 30) {
    const some = names.slice(at, at + 30);
    await Promise.all(some.map((name) => create(name).then(() => drop(name))));
  }
  const flags = await forgetful();
  for (let kill = 0; kill < casesOf(2, 3); kill++) {
    await killMidway(flags);
    const verified = await catalog('verify', '--json');
    expect(JSON.parse(verified.out).findings).toEqual([]);
  }
  expect(await catalog('gc', ...flags)).toMatchObject({ code: 0 });
  expect(await tableFiles(service.data)).toEqual(standing);
  expect(await folders()).toHaveLength(1);
  expect(await catalog('verify')).toMatchObject({ code: 0 });
  expect(await count('t')).toBe('2');
});

it('removes dropped tables by itself', async () => {
  await service.end();
  const flags = await forgetful();
  const other = await Service.start({ flags });
  await send(other.url, 'POST /v1/table/t/create', { body });
  await send(other.url, 'POST /v1/table/t/drop');
  expect(await tableFiles(other.data)).toHaveLength(2);
  await expect.poll(() => tableFiles(other.data)).toEqual([]);
  await other.stop();
});

it('removes versions by itself, with a record of its own, once no commit rule keeps them', async () => {
  await service.end();
  const config = 'versions: { keep_for: 0s, keep_last: 2 }\n';
  const other = await Service.start({ config });
  const rules = join(other.policies, 'commits.yaml');
  const rule = '{ name: r, tables: [/t], require: { keep_versions: true } }';
  await writeFile(rules, `rules:\n  - ${rule}\n`);
  const digest = async () =>
    (await send(other.url, 'GET /metrics')).text.match(/digest="(\w+)"/)?.[1];
  const before = await digest();
  await expect.poll(digest).not.toBe(before);
  await send(other.url, 'POST /v1/table/t/create', { body });
  for (let at = 0; at < 5; at++) {
    await send(other.url, 'POST /v1/table/t/insert?mode=overwrite', { body });
  }
  const gc = await other.command('catalog', 'gc', '--policies', other.policies);
  expect(gc.out).toContain('; commit rules keep the versions of 1 line');
  await rm(rules);
  await expect.poll(() => tableFiles(other.data)).toHaveLength(4);
  const { json } = await send(other.url, 'POST /v1/table/t/version/list');
  expect(json).toMatchObject({ versions: [{ version: 5 }, { version: 6 }] });
  const expiries = (await other.audit()).filter(({ operation }) => operation === 'CatalogExpire');
  expect(expiries).toMatchObject([
    { phase: 'attempt', subject: 'system:retention', object: '/t' },
    { phase: 'outcome', context: { branch: 'main', removed: '4', versions: '1..4' } },
  ]);
  expect((await other.command('catalog', 'verify')).code).toBe(0);
  await other.stop();
});
