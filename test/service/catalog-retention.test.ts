import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableFiles } from '../support/dropped.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

let service: Service;

const rows = (...values: bigint[]) =>
  tableToIPC(new Table({ n: vectorFromArray(values, new Int64()) }), 'stream');
const create = (name: string, ...values: bigint[]) =>
  send(service.url, `POST /v1/table/${name}/create`, { body: rows(...values) });
const drop = (name: string) => send(service.url, `POST /v1/table/${name}/drop`);
const count = async (name: string) =>
  (await send(service.url, `POST /v1/table/${name}/count_rows`, { body: {} })).text;
const catalog = (...words: readonly string[]) => service.command('catalog', ...words);

/** A configuration under which nothing is kept. */
const forgetful = async (): Promise<string> => {
  const path = join(service.folder, 'forgetful.yaml');
  await writeFile(path, 'drop: { retention: 1ms }\n');
  return path;
};

beforeAll(async () => {
  service = await Service.start();
});

afterAll(() => service.stop());

describe('catalog dropped and undrop', () => {
  it('bring a table back beside a running gateway', async () => {
    await create('t', 1n, 2n);
    await send(service.url, 'POST /v1/table/t/tags/create', { body: { tag: 'v', version: 1 } });
    await drop('t');
    const listed = await catalog('dropped', '--json');
    const [entry] = JSON.parse(listed.out) as { table: string; dropped: string; until: string }[];
    expect(entry).toMatchObject({ table: '/t', kind: 'engine' });
    const kept = Date.parse(entry!.until) - Date.parse(entry!.dropped);
    expect(kept).toBe(24 * 3_600_000);
    expect((await catalog('dropped')).out).toMatch(
      /^TABLE +ID +DROPPED +UNTIL\n\/t +\S+ +\S+Z +\S+Z\n$/,
    );
    expect(await catalog('undrop', '/t')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\/t is back \(id [0-9a-f-]{36}\)\n$/),
    });
    expect(await count('t')).toBe('2');
    const tags = await send(service.url, 'POST /v1/table/t/tags/list');
    expect(tags.json).toMatchObject({ tags: { v: { version: 1 } } });
    expect(await catalog('dropped')).toMatchObject({ code: 0, out: 'no dropped table is kept\n' });
  });

  it('give it another name, and say so as JSON', async () => {
    await drop('t');
    await create('t', 3n);
    const { id } = JSON.parse((await catalog('dropped', '--json')).out)[0];
    const done = await catalog('undrop', '/t', '--id', id, '--as', '/old', '--json');
    expect(JSON.parse(done.out)).toEqual({ table: '/old', id });
    expect([await count('t'), await count('old')]).toEqual(['1', '2']);
  });

  const refusals: readonly (readonly [readonly string[], string])[] = [
    [['/none'], 'there is no dropped table /none that can be brought back'],
    [['/t', '--id', 'x'], 'there is no dropped table /t with the id "x" that can be brought back'],
    [['t'], '"t" is no canonical path'],
    [['/t', '--as', '/a//b'], '"/a//b" is no canonical path'],
    [['/t', '--as', '/gone/t'], 'namespace /gone does not exist'],
  ];

  it.each(refusals)('refuse %j', async (words, sentence) => {
    const refused = await catalog('undrop', ...words);
    expect(refused).toEqual({ code: 2, out: '', err: `arrowgate: ${sentence}\n` });
  });
});

describe('catalog gc', () => {
  it('removes dropped tables past their time, and old files that nothing names', async () => {
    const before = await tableFiles(service.data);
    await create('x', 1n);
    const [id] = (await tableFiles(service.data)).filter((path) => !before.includes(path));
    await drop('x');
    const left = join(service.data, 'tables', id!.slice(0, 36), 'data');
    expect(await readdir(left)).toHaveLength(1);
    expect(await catalog('gc')).toMatchObject({
      code: 0,
      out: 'removed 0 dropped tables, 0 files, 0 bytes\n',
    });
    const config = ['--config', await forgetful()];
    const dry = JSON.parse((await catalog('gc', ...config, '--dry-run', '--json')).out);
    expect(dry).toMatchObject({ dryRun: true, tables: 1, files: 2, waiting: 0, failures: [] });
    expect(await catalog('gc', ...config)).toMatchObject({
      code: 0,
      out: `removed 1 dropped table, 2 files, ${dry.bytes} bytes\n`,
    });
    expect(await tableFiles(service.data)).toEqual(before);
    expect(await catalog('undrop', '/x')).toMatchObject({ code: 2 });
  });

  it('leaves young files to their writers', async () => {
    const [any] = await tableFiles(service.data);
    const path = join(
      service.data,
      'tables',
      any!.slice(0, 36),
      'data',
      `${any!.slice(0, 36)}.arrow`,
    );
    await writeFile(path, 'left over');
    expect((await catalog('gc')).out).toContain(' 0 files');
    await utimes(path, new Date(1), new Date(1));
    expect(await catalog('gc', '--older-than', '90d')).toMatchObject({
      code: 0,
      out: 'removed 0 dropped tables, 1 file, 9 bytes\n',
    });
  });

  it.each([
    [['--older-than', 'soon'], '--older-than is "soon", but must be a duration such as 24h or 90d'],
    [['--older-than', '7'], '--older-than is "7", but must be a duration such as 24h or 90d'],
  ])('refuses %j', async (words, sentence) => {
    expect(await catalog('gc', ...words)).toEqual({
      code: 2,
      out: '',
      err: `arrowgate: ${sentence}\n`,
    });
  });
});

describe('catalog verify', () => {
  it('finds nothing wrong with what a gateway serves', async () => {
    const whole = await catalog('verify');
    expect(whole).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(
        /^looked at 2 tables, 2 versions, 2 files of \d+ bytes, \d+ changes in the journal: nothing is wrong\n$/,
      ),
    });
    const one = JSON.parse((await catalog('verify', '/t', '--json')).out);
    expect(one).toMatchObject({ tables: 1, changes: null, findings: [], orphans: [] });
  });

  it('names what is wrong, and says so by its exit code', async () => {
    const [data] = (await tableFiles(service.data)).filter((path) => path.includes('/data/'));
    const path = join(service.data, 'tables', data!);
    const whole = await readFile(path);
    await truncate(path, 99);
    const found = await catalog('verify', '--json');
    expect(found.code).toBe(1);
    expect(JSON.parse(found.out).findings).toEqual([
      {
        kind: 'file',
        table: expect.stringMatching(/^\/(t|old)$/),
        file: data!.slice(37),
        fault: 'cannot be read: The file does not end like an Arrow file.',
      },
    ]);
    expect((await catalog('verify')).out).toContain('1 findings\n');
    await writeFile(path, whole);
  });

  it.each([
    ['/none', 'arrowgate: table /none does not exist\n'],
    ['none', 'arrowgate: "none" is no canonical path\n'],
  ])('refuses %s', async (table, err) => {
    expect(await catalog('verify', table)).toEqual({ code: 2, out: '', err });
  });
});

describe('SIGKILL', () => {
  it('in the middle of a collection leaves nothing by halves', async () => {
    const kept = ['a', 'b', 'c', 'd'];
    for (const name of kept) await create(`keep-${name}`, 1n);
    const standing = await tableFiles(service.data);
    for (let at = 0; at < 60; at++) {
      await create(`gone${at}`, 1n, 2n);
      await drop(`gone${at}`);
    }
    const config = ['--config', await forgetful(), '--data', service.data];
    const main = new URL('../../dist/cli/main.js', import.meta.url).pathname;
    for (let kill = 0; kill < 6; kill++) {
      const gc = spawn(process.execPath, [main, 'catalog', 'gc', ...config], { stdio: 'ignore' });
      await sleep(350 + 90 * kill);
      gc.kill('SIGKILL');
      await once(gc, 'close');
      const verified = await catalog('verify', '--json');
      expect(JSON.parse(verified.out).findings).toEqual([]);
    }
    expect(await catalog('gc', '--config', await forgetful())).toMatchObject({ code: 0 });
    expect(await tableFiles(service.data)).toEqual(standing);
    expect(await readdir(join(service.data, 'tables'))).toHaveLength(2 + kept.length);
    expect(await count('keep-a')).toBe('1');
    expect(await catalog('verify')).toMatchObject({ code: 0 });
  }, 120_000);
});

it('a gateway removes dropped tables by itself', async () => {
  const config = await forgetful();
  const other = await Service.start({ flags: ['--config', config] });
  await send(other.url, 'POST /v1/table/t/create', { body: rows(1n) });
  await send(other.url, 'POST /v1/table/t/drop');
  expect(await tableFiles(other.data)).toHaveLength(2);
  await expect.poll(() => tableFiles(other.data), { timeout: 60_000 }).toEqual([]);
  await other.stop();
  await rm(config, { force: true });
}, 90_000);
