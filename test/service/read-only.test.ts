import { execFile } from 'node:child_process';
import {
  access,
  chmod,
  chown,
  constants,
  lchown,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { EmbeddedFile } from '../../src/store/embedded/file.ts';
import { eventually } from '../support/eventually.ts';
import { openLittleDisk, type LittleDisk } from '../support/little-disk.ts';
import { Service, type ServiceOptions } from '../support/service.ts';
import { send, sendGranted, type Reply } from './http.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** The user id of `nobody`. */
const NOBODY = 65_534;

const SENTENCE =
  'the service is in read-only mode, because its data folder cannot be written; nothing is changed';

let service: Service;
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await service.end();
  for (let clean = cleanups.pop(); clean !== undefined; clean = cleanups.pop()) await clean();
  await service.stop();
});

const rows = tableToIPC(new Table({ n: vectorFromArray([1n, 2n], new Int64()) }), 'stream');

function insert(): Promise<Reply> {
  return send(service.url, 'POST /v1/table/t/insert', { body: rows });
}

async function count(): Promise<string> {
  return (await sendGranted(service.url, 'POST /v1/table/t/count_rows', { body: {} })).text;
}

/** A service that made a table of two rows, and has ended. */
async function prepared(options: ServiceOptions = {}): Promise<void> {
  service = await Service.start(options);
  await sendGranted(service.url, 'POST /v1/table/t/create', { body: rows });
  const body = { tag: 'kept', version: 1 };
  await sendGranted(service.url, 'POST /v1/table/t/tags/create', { body });
  await service.end();
}

/** Checks that reads are served, changes are refused, and the reason is reported. */
async function expectReadOnly(reason: RegExp): Promise<void> {
  expect(await count()).toBe('2');
  const described = await send(service.url, 'POST /v1/table/t/describe', { body: {} });
  expect(described.json).toMatchObject({ version: 1 });
  const queried = await send(service.url, 'POST /v1/table/t/query', { body: { vector: [], k: 5 } });
  expect(queried.status).toBe(200);
  const changes = [
    await insert(),
    await send(service.url, 'POST /v1/table/u/create', { body: rows }),
    await send(service.url, 'POST /v1/table/t/drop', { body: {} }),
    await send(service.url, 'POST /v1/namespace/n/create', { body: {} }),
  ];
  for (const { status, json } of changes) {
    expect({ status, code: json['code'], error: json['error'] }).toEqual({
      status: 503,
      code: 17,
      error: SENTENCE,
    });
  }
  const ready = await send(service.url, 'GET /readyz');
  expect(ready.status).toBe(200);
  expect(ready.json).toMatchObject({
    status: 'degraded',
    parts: expect.arrayContaining([
      { part: 'storage', status: 'degraded', why: expect.stringMatching(reason) },
    ]),
  });
  const metrics = await send(service.url, 'GET /metrics');
  expect(metrics.text).toContain('arrowgate_ready{part="storage"} 0');
  const lines = service.errors.split('\n').filter((line) => line.includes('read-only mode'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: 50, fault: expect.stringMatching(reason) });
}

/** Checks that the service begins to write without a restart, and lost no record. */
async function expectWriting(): Promise<void> {
  await eventually(async () => expect((await insert()).status).toBe(200));
  expect(await count()).toBe('4');
  const ready = await send(service.url, 'GET /readyz');
  expect(ready.json).toMatchObject({
    parts: expect.arrayContaining([{ part: 'storage', status: 'ok' }]),
  });
  expect(service.errors).toContain('the read-only mode ends');
  const records = await service.audit();
  const refused = records.filter(({ status, code }) => status === 503 && code === 17);
  expect(refused.length).toBeGreaterThanOrEqual(4);
  expect(records.filter(({ operation }) => operation === 'QueryTable')).toHaveLength(2);
  await service.end();
  expect(await service.command('audit', 'verify')).toMatchObject({ code: 0 });
  expect(await service.command('catalog', 'verify')).toMatchObject({ code: 0 });
}

/** Flips a bit of the rows of the table. */
async function flipData(): Promise<void> {
  const root = join(service.data, 'tables');
  const names = await readdir(root, { recursive: true });
  const path = join(
    root,
    names.find((name) => /\/data\/.*\.arrow$/.test(name))!,
  );
  const bytes = await readFile(path);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(path, bytes);
}

/** Removes a tag from the store as rot would: its digest stays. */
async function loseTag(): Promise<void> {
  const file = new EmbeddedFile(join(service.data, 'private', 'store'));
  await file.transact(() => {
    const { values } = file.tables;
    const [key] = [...values.getKeys({ start: Buffer.from('G'), end: Buffer.from('H'), limit: 1 })];
    values.removeSync(key!);
  });
  await file.close();
}

/** Makes another user the owner of everything in a folder. */
async function giveAway(folder: string): Promise<void> {
  await chown(folder, NOBODY, NOBODY);
  for (const name of await readdir(folder, { recursive: true })) {
    await lchown(join(folder, name), NOBODY, NOBODY);
  }
}

/** Sets whether the owner may write to anything in a folder. */
async function setWritable(folder: string, isWritable: boolean): Promise<void> {
  await run('chmod', ['-R', isWritable ? 'u+w' : 'a-w', folder]);
}

describe('a service whose data folder cannot be written', () => {
  it('serves reads on a full disk, and changes as soon as there is room', async (context) => {
    const disk: LittleDisk = await openLittleDisk();
    cleanups.push(() => disk.close());
    await prepared({ within: disk.folder });
    context.skip(disk.kind !== 'a file system of its own', 'this user may not mount a file system');
    await disk.fill(service);
    await service.restart();
    await expectReadOnly(/ cannot be written: the disk is full \(ENOSPC\)$/);
    await disk.free(service);
    await expectWriting();
  });

  it('serves reads on a mount for reading, and changes once it is for writing', async (context) => {
    await prepared();
    context.skip(!isRoot, 'only root may mount');
    const mounted = await run('mount', ['--bind', service.data, service.data]).catch(
      () => undefined,
    );
    context.skip(mounted === undefined, 'this system does not allow bind mounts');
    cleanups.push(() => run('umount', ['--lazy', service.data]));
    await run('mount', ['-o', 'remount,bind,ro', service.data]);
    await service.restart();
    await expectReadOnly(/ is on a file system that is mounted for reading \(EROFS\)$/);
    await run('mount', ['-o', 'remount,bind,rw', service.data]);
    await expectWriting();
  });

  it('serves reads where its user may not write, and changes once it may', async (context) => {
    context.skip(!isRoot, 'only root may run a program as another user');
    await prepared();
    await giveAway(service.folder);
    await setWritable(service.data, false);
    const other = { ...service.options, user: NOBODY };
    Object.assign(service, { options: other });
    await service.restart();
    await expectReadOnly(/\/data cannot be written by this user \(EACCES\)$/);
    await setWritable(service.data, true);
    await expectWriting();
  });

  it('reports damage of files and of the store that is found meanwhile', async (context) => {
    await prepared();
    context.skip(!isRoot, 'only root may mount');
    await flipData();
    await loseTag();
    const mounted = await run('mount', ['--bind', service.data, service.data]).catch(
      () => undefined,
    );
    context.skip(mounted === undefined, 'this system does not allow bind mounts');
    cleanups.push(() => run('umount', ['--lazy', service.data]));
    await run('mount', ['-o', 'remount,bind,ro', service.data]);
    await service.restart();
    const body = { vector: [], k: 5 };
    const { status, json } = await send(service.url, 'POST /v1/table/t/query', { body });
    expect([status, json['code']]).toEqual([500, 18]);
    await eventually(async () => {
      const ready = await send(service.url, 'GET /readyz');
      expect(ready.json['parts']).toEqual(
        expect.arrayContaining([
          { part: 'storage', status: 'degraded', why: expect.stringContaining('EROFS') },
          { part: 'tables', status: 'degraded', why: expect.stringContaining('is damaged') },
          { part: 'store', status: 'degraded', why: expect.stringContaining('their digest') },
        ]),
      );
    });
  });

  it('does not start where each record has to be on disk before its answer', async (context) => {
    context.skip(!isRoot, 'only root may mount');
    await prepared({ config: 'audit: { durable: all }\n' });
    const mounted = await run('mount', ['--bind', service.data, service.data]).catch(
      () => undefined,
    );
    context.skip(mounted === undefined, 'this system does not allow bind mounts');
    cleanups.push(() => run('umount', ['--lazy', service.data]));
    await run('mount', ['-o', 'remount,bind,ro', service.data]);
    await expect(service.restart()).rejects.toThrow(
      / is on a file system that is mounted for reading \(EROFS\); with audit\.durable: all no request is answered before its audit record is on disk, so there is no read-only mode\n$/,
    );
    expect(await service.ended()).toBe(2);
  });
});

describe('a data folder without its format', () => {
  it('is refused, and stays as it is', async () => {
    await prepared();
    const path = join(service.data, 'FORMAT');
    await rm(path);
    const sentence = `${path} is missing, but ${join(service.data, 'catalog')} holds data of an unknown format: restore the file from a backup of this folder, or name another data folder`;
    await expect(service.restart()).rejects.toThrow(sentence);
    expect(await service.ended()).toBe(2);
    for (const words of [
      ['catalog', 'verify'],
      ['keys', 'list'],
      ['catalog', 'gc'],
    ]) {
      const { code, err } = await service.command(...words);
      expect(code).toBe(2);
      expect(err).toContain(sentence);
    }
    await expect(access(path, constants.F_OK)).rejects.toThrow('ENOENT');
    await writeFile(path, '2\n');
    await chmod(path, 0o640);
    await service.restart();
    expect(await count()).toBe('2');
  });
});
