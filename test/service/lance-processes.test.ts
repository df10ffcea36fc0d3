import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { arrow, lancedb, tableOf } from '../clients/lancedb.ts';
import { waitUntil } from '../support/eventually.ts';
import { libraryFolder, libraryIn, rootWithLibrary } from '../support/other-library.ts';
import { childrenOf, isRunning, signalAll } from '../support/processes.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

/** Processes of the Lance library that do not start, say nothing or say rubbish. */

/** The installed library, which does first what a file beside it says. */
const MAIN = `
const fs = require('node:fs');
const path = require('node:path');
const act = fs.readFileSync(path.join(__dirname, 'act'), 'utf8');
const frame = (text) => {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(text.length, 0);
  return Buffer.concat([header, Buffer.from(text)]);
};
const acts = {
  none() {},
  throw() { throw new Error('libm.so.9: cannot open shared object file.\\nRequire stack:'); },
  abort() { process.abort(); },
  exit() { process.stderr.write('out of luck'); process.exit(7); },
  rubbish() { fs.writeSync(3, 'HTTP/1.1 400 Bad Request\\r\\n\\r\\n'); },
  null() { fs.writeSync(3, frame('null')); },
  text() { fs.writeSync(3, frame('{"kind":')); },
  spill() { fs.writeFileSync(path.join(require('node:os').tmpdir(), 'shuffle'), 'rows'); },
  grow() { globalThis.held = Buffer.alloc(180 * 2 ** 20, 1); },
};
acts[act]();
module.exports = require(${JSON.stringify(libraryFolder)});
`;

const everything = { vector: [], k: -1 };
let root: string;
let service: Service;

/** Whatever the next processes of the library are to do first. */
async function setAct(act: string): Promise<void> {
  await rm(join(libraryIn(root), 'now'), { force: true });
  await writeFile(join(libraryIn(root), 'act'), act);
}

function ask(name: string, action: string, body: object = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

function libraries(): Promise<readonly number[]> {
  return childrenOf(Number(service.said['pid']));
}

/** Ends the processes that there are. */
async function noneLeft(): Promise<void> {
  signalAll(await libraries(), 'SIGKILL');
  await waitUntil(async () => (await libraries()).length === 0);
}

beforeAll(async () => {
  root = await rootWithLibrary(MAIN);
  await setAct('none');
  service = await Service.start({ root, config: 'lance: { processes: 2, memory: 256MiB }\n' });
  const headers = { 'x-api-key': ADMIN_KEY };
  const writer = await lancedb.connectNamespace('rest', { uri: service.url, headers });
  const ids = Array.from({ length: 40_000 }, (_, id) => id);
  const texts = ids.map((id) => `row ${id} `.repeat(40));
  await writer.createTable(
    't',
    tableOf([
      { name: 'id', type: new arrow.Int32(), values: ids },
      { name: 'text', type: new arrow.Utf8(), values: texts },
    ]),
  );
  const own = tableOf([{ name: 'id', type: new arrow.Int32(), values: [1, 2, 3] }]);
  const body = arrow.tableToIPC(own, 'stream');
  await send(service.url, 'POST /v1/table/own/create', { body });
});

afterAll(async () => {
  await service.stop();
  await rm(root, { recursive: true });
});

describe('a process of the library that cannot work', () => {
  beforeEach(noneLeft);

  const notLoaded =
    'the process of the Lance library for table /t ended before the library was loaded: repeat the request, and find the reason in the log of the gateway';
  const faults: readonly (readonly [string, number, number, string, string])[] = [
    [
      'throw',
      406,
      0,
      'table /t needs the Lance library, which cannot be loaded: Error: libm.so.9: cannot open shared object file. Install it anew beside arrowgate',
      'libm.so.9',
    ],
    ['abort', 503, 17, notLoaded, 'it ended with SIGABRT'],
    ['exit', 503, 17, notLoaded, 'it ended with code 7: out of luck'],
    ['rubbish', 503, 17, notLoaded, 'it sent bytes that are no message'],
    ['null', 503, 17, notLoaded, 'it sent bytes that are no message'],
    ['text', 503, 17, notLoaded, 'it sent bytes that are no message'],
  ];

  it.each(faults)(
    '(%s) fails requests for rows of Lance tables, and nothing else',
    async (act, status, code, error, logged) => {
      await setAct(act);
      const requests = [
        ['count_rows', {}],
        ['query', everything],
        ['delete', { predicate: 'id = 1' }],
      ] as const;
      for (const [action, body] of requests) {
        const refused = await ask('t', action, body);
        expect([refused.status, refused.json['code'], refused.json['error']]).toEqual([
          status,
          code,
          error,
        ]);
      }
      expect((await ask('own', 'count_rows')).text).toBe('3');
      expect((await ask('t', 'describe')).json['version']).toBe(1);
      expect(service.errors).toContain(logged);
      await setAct('none');
      expect((await ask('t', 'count_rows')).text).toBe('40000');
    },
  );
});

describe('a process of the library that is stopped', () => {
  it('is killed, and its work is begun again in another one', async () => {
    await noneLeft();
    expect((await ask('t', 'count_rows')).text).toBe('40000');
    const [stopped = 0] = await libraries();
    process.kill(stopped, 'SIGSTOP');
    const [counted, deleted] = await Promise.all([
      ask('t', 'count_rows', { predicate: 'id < 10' }),
      ask('t', 'delete', { predicate: 'id = 39999' }),
    ]);
    expect(['9', '10']).toContain(counted.text);
    expect(deleted.json).toMatchObject({ version: 2, num_deleted_rows: 1 });
    expect(await isRunning(stopped)).toBe(false);
    expect(service.errors).toContain('it said nothing for 10 s');
    expect((await ask('t', 'count_rows')).text).toBe('39999');
  });
});

describe('a process of the library that holds more than lance.memory', () => {
  it('ends after its request, and another one takes its place', async () => {
    await noneLeft();
    await setAct('grow');
    expect((await ask('t', 'count_rows')).status).toBe(200);
    const [grown = 0] = await libraries();
    await setAct('none');
    await waitUntil(async () => {
      expect((await ask('t', 'count_rows')).status).toBe(200);
      return !(await isRunning(grown));
    });
    expect((await ask('t', 'count_rows')).status).toBe(200);
    expect(await libraries()).toHaveLength(1);
  });
});

describe('the temporary files of the library', () => {
  const scratch = (): Promise<string[]> => readdir(join(service.data, 'private', 'library'));

  it('go with a process that is killed', async () => {
    await noneLeft();
    await setAct('spill');
    expect((await ask('t', 'count_rows')).status).toBe(200);
    const [folder = ''] = await scratch();
    expect(await readdir(join(service.data, 'private', 'library', folder))).toEqual(['shuffle']);
    await noneLeft();
    await waitUntil(async () => (await scratch()).length === 0);
  });

  it('go with a gateway that is killed, or at the next start', async () => {
    expect((await ask('t', 'count_rows')).status).toBe(200);
    const [library = 0] = await libraries();
    process.kill(library, 'SIGSTOP');
    await service.end('SIGKILL');
    process.kill(library, 'SIGKILL');
    expect(await scratch()).toHaveLength(1);
    await service.restart();
    await waitUntil(async () => (await scratch()).length === 0);
  });
});
