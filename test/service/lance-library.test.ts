import {
  copyFile,
  cp,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, tableOf } from '../clients/lancedb.ts';
import { manifestName, messageOf } from '../support/lance-table.ts';
import { waitUntil } from '../support/eventually.ts';
import { childrenOf, isRunning, signalAll } from '../support/processes.ts';
import { ADMIN_KEY, Service, type ServiceOptions } from '../support/service.ts';
import { open, send, type Reply } from './http.ts';

/** The processes of the Lance library behind a service: killed, too large, too slow, at damaged files. */

const { Field, FixedSizeList, Float32, Int32 } = arrow;

let service: Service;
let writer: Connection;

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await Service.start(options);
  const headers = { 'x-api-key': ADMIN_KEY };
  writer = await lancedb.connectNamespace('rest', { uri: service.url, headers });
}

/** A table of some rows of about a quarter of a KiB. */
async function wide(name: string, rows: number): Promise<Table> {
  const numbers = Array.from({ length: rows }, (_, id) => id);
  const type = new FixedSizeList(64, new Field('item', new Float32(), true));
  return writer.createTable(
    name,
    tableOf([
      { name: 'id', type: new Int32(), values: numbers },
      { name: 'v', type, values: numbers.map((id) => Array.from({ length: 64 }, () => id)) },
    ]),
  );
}

function ask(name: string, action: string, body: object = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

/** Takes milliseconds for each row, and cannot be interrupted. */
const SLOW = "levenshtein(repeat('a', 2000 + id % 2), repeat('b', 2000)) < 0";

/** Processor time of a process, in ticks. */
async function ticksOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = text.split(') ')[1]!.split(' ').slice(11, 13).map(Number);
  return user + system;
}

const everything = { vector: [], k: -1 };

/** Processes of the library. */
function libraries(): Promise<readonly number[]> {
  return childrenOf(Number(service.said['pid']));
}

async function locationOf(name: string): Promise<string> {
  return String((await ask(name, 'describe')).json['location']);
}

describe('with one process', () => {
  beforeAll(async () => {
    await start({ variables: { ARROWGATE_BUDGET_TIME: '4s' } });
    await wide('rows', 60_000);
    await wide('other', 10);
  });

  afterAll(() => service.stop());

  it('reads are begun again when it is killed', async () => {
    const whole = await ask('rows', 'query', everything);
    expect(whole.status).toBe(200);
    const answers = Array.from({ length: 4 }, () => ask('rows', 'query', everything));
    const counts = Array.from({ length: 4 }, () =>
      ask('rows', 'count_rows', { predicate: 'id > 7' }),
    );
    const [first = 0] = await libraries();
    process.kill(first, 'SIGKILL');
    for (const { status, text } of await Promise.all(counts)) {
      expect([status, text]).toEqual([200, '59992']);
    }
    for (const { bytes } of await Promise.all(answers))
      expect(bytes.equals(whole.bytes)).toBe(true);
    expect(await libraries()).not.toContain(first);
  });

  it('the rest of an answer is read again when it is killed in the middle', async () => {
    const whole = await ask('rows', 'query', everything);
    for (let kills = 1; kills <= 3; kills++) {
      const body = { ...everything };
      const answer = await open(service.url, 'POST /v1/table/rows/query', { body });
      const chunks: Buffer[] = [];
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        if (chunks.length === 3 * kills) signalAll(await libraries(), 'SIGKILL');
        chunks.push(chunk);
      }
      expect(Buffer.concat(chunks).equals(whole.bytes)).toBe(true);
    }
  });

  it('work that goes on after its budget ends with it, and others are repeated', async () => {
    await ask('other', 'count_rows');
    const before = await libraries();
    const slow = await ask('rows', 'count_rows', { predicate: SLOW });
    expect(slow.status).toBe(400);
    expect(slow.json).toMatchObject({ code: 13 });
    expect(String(slow.json['error'])).toContain('budget.time');
    await waitUntil(async () => !(await Promise.all(before.map(isRunning))).some(Boolean));
    expect((await ask('other', 'count_rows')).text).toBe('10');
  });

  it('work for a client that has left ends with its process', async () => {
    await ask('other', 'count_rows');
    const [pid = 0] = await libraries();
    const idle = await ticksOf(pid);
    const leaving = new AbortController();
    const sent = { body: { predicate: SLOW }, signal: leaving.signal };
    const gone = send(service.url, 'POST /v1/table/rows/count_rows', sent);
    gone.catch(() => undefined);
    await waitUntil(async () => (await ticksOf(pid)) > idle + 20);
    leaving.abort();
    await expect(gone).rejects.toThrow();
    expect((await ask('other', 'count_rows')).text).toBe('10');
    await waitUntil(async () => !(await isRunning(pid)));
    expect((await ask('other', 'count_rows')).text).toBe('10');
  });
});

/** Its files that one request reads, by a part of their names. */
const DATA = /^data\//;
const DELETIONS = /^_deletions\//;
const INDEX = /page_lookup/;
const MANIFEST = /551612\.manifest$/;

type Damage = (bytes: Buffer) => Buffer | undefined;

const lost: Damage = () => undefined;
const cutShort: Damage = (bytes) => bytes.subarray(0, bytes.length >> 1);
const foreign: Damage = (bytes) => Buffer.alloc(bytes.length, 'x');

/** A file of a later format: its last bytes are the number of the format and the mark. */
const later: Damage = (bytes) => {
  const copy = Buffer.from(bytes);
  copy.writeUInt16LE(9, copy.length - 8);
  return copy;
};

/** A manifest with a flag that nobody knows, who must then not read the table. */
const flagged: Damage = (bytes) => {
  const at = Number(bytes.readBigUInt64LE(bytes.length - 16));
  const end = at + 4 + bytes.readUInt32LE(at);
  const message = Buffer.concat([bytes.subarray(at + 4, end), messageOf([9, 2 ** 20])]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(message.length);
  return Buffer.concat([bytes.subarray(0, at), length, message, bytes.subarray(end)]);
};

const filter = { predicate: 'id < 250' };
const CANNOT_READ = (table: string) => `^the Lance library cannot read a file of table /${table}: `;
const MANIFEST_DAMAGED = (table: string) => `^the manifest of version 3 of table /${table} cannot`;
const LATER_FORMAT = (table: string) =>
  `^table /${table} has a format that the Lance library of this service does not know: .*Open it`;

/** What is damaged, and how the request that reads it is refused. */
const damages = [
  ['lost data', DATA, lost, 'query', everything, 500, 18, CANNOT_READ],
  ['data that is cut short', DATA, cutShort, 'query', everything, 500, 18, CANNOT_READ],
  ['data that is none', DATA, foreign, 'query', everything, 500, 18, CANNOT_READ],
  ['data of a later format', DATA, later, 'query', everything, 406, 0, LATER_FORMAT],
  ['lost deletions', DELETIONS, lost, 'query', everything, 500, 18, CANNOT_READ],
  ['deletions that are cut short', DELETIONS, cutShort, 'query', everything, 500, 18, CANNOT_READ],
  ['deletions that are none', DELETIONS, foreign, 'count_rows', filter, 500, 18, CANNOT_READ],
  ['deletions with another end', DELETIONS, later, 'query', everything, 500, 18, CANNOT_READ],
  ['a lost index', INDEX, lost, 'count_rows', filter, 500, 18, CANNOT_READ],
  ['an index that is cut short', INDEX, cutShort, 'count_rows', filter, 500, 18, CANNOT_READ],
  ['an index that is none', INDEX, foreign, 'count_rows', filter, 500, 18, CANNOT_READ],
  ['an index of a later format', INDEX, later, 'count_rows', filter, 406, 0, LATER_FORMAT],
  ['half a manifest', MANIFEST, cutShort, 'query', everything, 500, 18, MANIFEST_DAMAGED],
  ['a manifest that is none', MANIFEST, foreign, 'describe', {}, 500, 18, MANIFEST_DAMAGED],
  ['a manifest without an end', MANIFEST, cutShort, 'stats', {}, 500, 18, MANIFEST_DAMAGED],
  ['a manifest of a later format', MANIFEST, flagged, 'query', everything, 406, 0, LATER_FORMAT],
  ['an unknown flag', MANIFEST, flagged, 'delete', { predicate: 'id = 7' }, 406, 0, LATER_FORMAT],
] as const;

describe('a table in its folder', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'lance-')));
    await start({ config: `locations: { allowed: [${JSON.stringify(folder)}] }\n` });
    const local = await lancedb.connect(folder);
    await local.createTable('source', [{ id: 1 }, { id: 2 }]);
    await local.cloneTable('copy', join(folder, 'source.lance'), { isShallow: true });
    const sound = await local.createTable(
      'sound',
      [1, 2, 4, 300].map((id) => ({ id })),
    );
    await sound.createIndex('id', { config: lancedb.Index.btree() });
    await sound.delete('id = 2');
    const body = { location: join(folder, 'sound.lance') };
    await send(service.url, 'POST /v1/table/untouched/register', { body });
  });

  afterAll(async () => {
    await service.stop();
    await rm(folder, { recursive: true });
  });

  it('is read and changed where it lies', async () => {
    const body = { location: join(folder, 'source.lance') };
    expect((await send(service.url, 'POST /v1/table/given/register', { body })).status).toBe(200);
    expect((await ask('given', 'count_rows')).text).toBe('2');
    const deleted = await ask('given', 'delete', { predicate: 'id = 1' });
    expect(deleted.json).toEqual({ version: 2, num_deleted_rows: 1 });
    const table = await (await lancedb.connect(folder)).openTable('source');
    expect(await table.countRows()).toBe(1);
  });

  it('has files that the catalog did not commit, which are not read', async () => {
    await wide('followed', 30);
    const versions = join(await locationOf('followed'), '_versions');
    await copyFile(join(versions, manifestName(1n)), join(versions, manifestName(7n)));
    await writeFile(join(versions, manifestName(8n)), 'no manifest');
    expect((await ask('followed', 'count_rows')).text).toBe('30');
    const answer = await ask('followed', 'query', everything);
    expect([answer.status, answer.headers['x-lancedb-version']]).toEqual([200, '1']);
    expect((await ask('followed', 'query', { ...everything, version: 7 })).status).toBe(404);
  });

  it.each(damages)(
    'with %s fails the requests that read it, and nothing else',
    async (kind, which, damage, action, body, status, code, sentence) => {
      const name = kind.replaceAll(/[^a-z]/g, '_');
      const location = join(folder, `${name}.lance`);
      await cp(join(folder, 'sound.lance'), location, { recursive: true });
      const register = { body: { location } };
      const registered = await send(service.url, `POST /v1/table/${name}/register`, register);
      expect(registered.status, registered.text).toBe(200);
      const files = await readdir(location, { recursive: true });
      const path = join(
        location,
        files.toSorted().find((file) => which.test(file))!,
      );
      const bytes = await readFile(path);
      const damaged = damage(bytes);
      await (damaged === undefined ? rm(path) : writeFile(path, damaged));
      const answer = await ask(name, action, body);
      expect([answer.status, answer.json['code']], answer.text).toEqual([status, code]);
      expect(answer.json['error']).toMatch(new RegExp(sentence(name)));
      expect(answer.json['error']).not.toContain(folder);
      expect((await ask('untouched', 'count_rows', filter)).text).toBe('2');
      await writeFile(path, bytes);
      expect((await ask(name, 'query', everything)).status).toBe(200);
      expect((await ask(name, 'count_rows', filter)).text).toBe('2');
    },
  );

  it('is not to blame for an expression that cannot be planned', async () => {
    const answer = await ask('untouched', 'query', { ...everything, filter: 'not id' });
    expect([answer.status, answer.json['code']], answer.text).toEqual([400, 13]);
    expect(answer.json['error']).toMatch(/^Error optimizing sql filter: not id .*Cannot infer/);
  });

  it('is another one when it was written anew at its location', async () => {
    const path = join(folder, 'source.lance');
    const body = { location: path };
    const local = await lancedb.connect(folder);
    for (const ids of [[7, 8, 9], [4]]) {
      await ask('given', 'deregister');
      await rm(path, { recursive: true });
      await local.createTable(
        'source',
        ids.map((id) => ({ id })),
      );
      expect((await send(service.url, 'POST /v1/table/given/register', { body })).status).toBe(200);
      const { bytes } = await ask('given', 'query', everything);
      expect([...(arrow.tableFromIPC(bytes).getChild('id') ?? [])]).toEqual(ids);
    }
  });

  it('that names files of another table is refused: the right to read it does not cover them', async () => {
    const body = { location: join(folder, 'copy.lance') };
    expect((await send(service.url, 'POST /v1/table/copied/register', { body })).status).toBe(200);
    for (const [action, sent] of [
      ['query', everything],
      ['count_rows', {}],
      ['delete', { predicate: 'id = 1' }],
    ] as const) {
      const refused = await ask('copied', action, sent);
      expect([refused.status, refused.json['code']]).toEqual([406, 0]);
      expect(String(refused.json['error'])).toMatch(/names files in the folder of another table/);
    }
  });
});

describe('memory', () => {
  beforeAll(async () => start({ config: 'lance: { memory: 256MiB }\n' }));
  afterAll(() => service.stop());

  it('is refused to a process by the kernel: the request fails and the next ones do not', async () => {
    await wide('rows', 9000);
    expect((await ask('rows', 'count_rows')).text).toBe('9000');
    const predicate = "length(repeat('x', 200000 + id)) > 0";
    const large = await ask('rows', 'count_rows', { predicate });
    expect(large.status).toBe(503);
    expect(large.json).toMatchObject({ code: 17 });
    expect(String(large.json['error'])).toMatch(/table \/rows.*lance\.memory/);
    expect((await ask('rows', 'count_rows')).text).toBe('9000');
  });

  it('that requests exceed again and again is no reason for others to fail', async () => {
    await wide('others', 100);
    const predicate = "length(repeat('x', 200000 + id)) > 0";
    const others = { areOver: false };
    const work = async (action: string, body: object): Promise<ReadonlySet<string>> => {
      const answers = new Set<string>();
      while (!others.areOver) {
        const { status, text } = await ask('others', action, body);
        answers.add(status === 200 ? '200' : text);
      }
      return answers;
    };
    const working = [
      work('count_rows', {}),
      work('query', everything),
      work('update', { predicate: 'id = 5', updates: [['id', '5']] }),
    ];
    for (let times = 0; times < 5; times++)
      expect((await ask('rows', 'count_rows', { predicate })).status).toBe(503);
    others.areOver = true;
    expect(await Promise.all(working)).toEqual(working.map(() => new Set(['200'])));
    expect((await ask('rows', 'count_rows')).text).toBe('9000');
  });
});

describe('the processes', () => {
  afterEach(() => service.stop());

  it('have no variable of the environment, are not there before a Lance table is, and end with a killed service', async () => {
    await start({ variables: { SECRET_OF_THE_GATEWAY: 'x' } });
    expect(await libraries()).toEqual([]);
    await wide('rows', 10);
    expect((await ask('rows', 'count_rows')).text).toBe('10');
    const pids = await libraries();
    expect(pids).toHaveLength(1);
    const environment = await readFile(`/proc/${pids[0]}/environ`, 'utf8');
    expect(environment).not.toContain('SECRET');
    // Each connection of the library would read the certificates of the system.
    expect(environment).toContain('SSL_CERT_FILE=/dev/null');
    await service.end('SIGKILL');
    await waitUntil(async () => !(await Promise.all(pids.map(isRunning))).some(Boolean));
  });

  it('are not started where the library is off', async () => {
    await start({ config: 'lance: { engine: off }\n' });
    await wide('rows', 10);
    const refused = await ask('rows', 'count_rows');
    expect([refused.status, refused.json['code'], refused.json['error']]).toEqual([
      406,
      0,
      'table /rows is written by Lance clients: set lance.engine to auto, or open it at its location',
    ]);
    expect(await libraries()).toEqual([]);
  });
});
