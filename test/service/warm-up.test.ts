import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownMark } from '../../src/store/process-mark.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const DONE = /the process is warmed up/g;
const EARLY = 'the warm-up ended early';

let temporary: string;
let service: Service | undefined;

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'arrowgate-warm-'));
});

afterEach(async () => {
  await service?.stop();
  service = undefined;
  await rm(temporary, { recursive: true, force: true });
});

async function started(variables: Readonly<Record<string, string>> = {}, flags: string[] = []) {
  const debug = { ARROWGATE_WARM_UP: 'true', ARROWGATE_LOG_LEVEL: 'debug', TMPDIR: temporary };
  service = await Service.start({ variables: { ...debug, ...variables }, flags });
  return service;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5);
}

async function ask(url: string, path: string): Promise<string> {
  const answer = await fetch(`${url}${path}`, { headers: { 'x-api-key': ADMIN_KEY } });
  expect(answer.status).toBe(200);
  return answer.text();
}

test('a process that started warms up, and leaves nothing of it in folders, catalog, log and metrics', async () => {
  const running = await started();
  await until(() => running.errors.match(DONE) !== null);
  expect(await readdir(temporary)).toEqual([]);
  expect(await readdir(join(running.data, 'tables'))).toEqual([]);
  expect(await ask(running.url, '/metrics')).not.toMatch(/^arrowgate_requests_total\{/m);
  expect(JSON.parse(await ask(running.url, '/v1/table'))).toEqual({ tables: [] });
  await running.end();
  const operations = (await running.audit()).map(({ operation }) => operation);
  expect(new Set(operations)).toEqual(new Set(['ListAllTables']));
});

test('each of several processes warms up', async () => {
  const running = await started({}, ['--processes', '2']);
  await until(() => (running.errors.match(DONE) ?? []).length === 2);
  expect(await readdir(temporary)).toEqual([]);
});

test('a stop ends the warm-up, and its folder goes', async () => {
  const running = await started();
  await until(async () => (await readdir(temporary)).length > 0);
  expect(await running.end()).toBe(0);
  expect(await readdir(temporary)).toEqual([]);
});

test('the folder of a killed process goes with the next start, and that of a living one stays', async () => {
  let running = await started();
  for (;;) {
    await until(async () => (await readdir(temporary)).length > 0);
    await running.end('SIGKILL');
    if ((await readdir(temporary)).length > 0) break;
    // It was done before the signal came.
    await running.restart();
  }
  const [left = ''] = await readdir(temporary);
  const { pid, born } = await ownMark();
  const living = left.replace(/-\d+-\d*-[^-]*$/, `-${pid}-${born}-living`);
  await mkdir(join(temporary, living));
  await running.restart();
  await until(() => running.errors.match(DONE) !== null);
  await until(async () => (await readdir(temporary)).length === 1);
  expect(await readdir(temporary)).toEqual([living]);
});

test('without a place for temporary files a process serves, and says that it ended early', async () => {
  const file = join(temporary, 'file');
  await writeFile(file, '');
  const running = await started({ TMPDIR: file });
  await until(() => running.errors.includes(EARLY));
  expect(await ask(running.url, '/readyz')).toContain('ok');
  expect(running.errors).not.toContain('"level":50');
});
