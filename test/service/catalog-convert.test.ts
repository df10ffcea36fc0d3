import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, rowsOf, tableOf } from '../clients/lancedb.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service, type Printed } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';

/** A table gets another format, while others use it. */

const RULES = `rules:
  - { name: kept, tables: [/kept], require: { no_drop: true } }
  - { name: versions, tables: [/history], require: { keep_versions: true } }
  - { name: tags, tables: [/tagged], require: { protected_tags: [gold] } }
  - { name: growing, tables: [/log], require: { append_only: true } }
`;

let service: Service;
let lance: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES });
  await connect();
});

afterAll(() => service.stop());

async function connect(): Promise<void> {
  const headers = { 'x-api-key': ADMIN_KEY };
  lance = await lancedb.connectNamespace('rest', { uri: service.url, headers });
}

async function restart(): Promise<void> {
  await service.restart();
  await connect();
}

function ask(name: string, action: string, sent: Sent = { body: {} }): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, sent);
}

function streamOf(ids: readonly number[]): Uint8Array {
  const rows = tableOf([{ name: 'id', type: new arrow.Int32(), values: ids }]);
  return arrow.tableToIPC(rows, 'stream');
}

function convert(name: string, to: string, ...more: readonly string[]): Promise<Printed> {
  const folders = ['--policies', service.policies];
  return service.command('catalog', 'convert', `/${name}`, '--to', to, ...folders, ...more);
}

/** All rows as the service answers them. */
async function tableIn(name: string): Promise<InstanceType<typeof arrow.Table>> {
  const reply = await ask(name, 'query', { body: { vector: [], k: -1 } });
  if (reply.status !== 200) throw new Error(reply.text);
  return arrow.tableFromIPC(reply.bytes);
}

async function idsOf(name: string): Promise<readonly number[]> {
  return (await tableIn(name)).toArray().map((row) => Number(row['id']));
}

interface ListedIndex {
  readonly index_name: string;
  readonly columns: readonly string[];
}

/** The indices of a table, once there are as many. */
async function built(name: string, count: number): Promise<readonly ListedIndex[]> {
  let found: readonly ListedIndex[] = [];
  await waitUntil(async () => {
    const { json } = await ask(name, 'index/list');
    found = (json['indexes'] ?? []) as readonly ListedIndex[];
    return found.length === count;
  });
  return found.toSorted((one, other) => (one.index_name < other.index_name ? -1 : 1));
}

/** Folders of Lance tables, and marks of those that are being made. */
async function folders(): Promise<readonly string[]> {
  const all = ['lance', 'tables'].map((name) => readdir(join(service.data, name)));
  return (await Promise.all(all)).flat().filter((name) => name.endsWith('.lance'));
}

const { Dictionary, Field, FixedSizeList, Float32, Int32, Int64, List, Struct, Utf8 } = arrow;
const vector = new FixedSizeList(2, new Field('item', new Float32(), true));
const nested = new Struct([
  new Field('tags', new List(new Field('item', new Utf8(), true)), true),
  new Field('n', new Int64(), true),
]);

function manyTypes(from: number, count: number): Uint8Array {
  const ids = Array.from({ length: count }, (_, at) => from + at);
  const columns = [
    {
      name: 'big',
      type: new Int64(),
      nullable: false,
      values: ids.map((id) => 2n ** 60n + BigInt(id)),
    },
    { name: 'v', type: vector, values: ids.map((id) => (id % 5 === 0 ? null : [id, -id])) },
    {
      name: 'word',
      type: new Dictionary(new Utf8(), new Int32()),
      values: ids.map((id) => `w${id % 7}`),
    },
    {
      name: 'more',
      type: nested,
      values: ids.map((id) =>
        id % 3 === 0 ? null : { tags: ['a', null, `t${id}`], n: BigInt(id) },
      ),
    },
  ];
  return arrow.tableToIPC(tableOf(columns, new Map([['owner', 'ann']])), 'stream');
}

describe('a conversion', () => {
  it('keeps rows, their order, columns, types and properties, there and back', async () => {
    const headers = { 'x-service-table-properties': '{"team":"a"}' };
    await ask('many', 'create', { body: manyTypes(0, 500), headers });
    await ask('many', 'insert', { body: manyTypes(500, 700) });
    await ask('many', 'delete', { body: { predicate: 'big % 11 = 3' } });
    const before = await tableIn('many');
    const { code, out, err } = await convert('many', 'lance', '--json');
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ version: 1, rows: before.numRows, tags: [] });
    const described = await ask('many', 'describe');
    expect(described.json).toMatchObject({
      version: 1,
      managed_versioning: true,
      properties: { team: 'a' },
    });
    const middle = await tableIn('many');
    expect(middle.schema.fields.map(String)).toEqual(before.schema.fields.map(String));
    expect(middle.toString()).toBe(before.toString());
    const back = await convert('many', 'arrow', '--json');
    expect([back.code, back.err]).toEqual([0, '']);
    const after = await tableIn('many');
    expect(after.schema.fields.map(String)).toEqual(before.schema.fields.map(String));
    expect(after.toString()).toBe(before.toString());
    expect((await ask('many', 'describe')).json).toMatchObject({ properties: { team: 'a' } });
  });

  it('makes a table that Lance clients write, and the next versions through the service', async () => {
    await ask('used', 'create', { body: streamOf([1, 2]) });
    expect((await convert('used', 'lance')).code).toBe(0);
    await (await lance.openTable('used')).add([{ id: 3 }]);
    expect((await ask('used', 'insert', { body: streamOf([4]) })).json['version']).toBe(3);
    expect(await idsOf('used')).toEqual([1, 2, 3, 4]);
    expect((await rowsOf((await lance.openTable('used')).query())).length).toBe(4);
  });

  it('of a table without rows keeps its columns', async () => {
    await ask('empty', 'create', { body: streamOf([]) });
    for (const to of ['lance', 'arrow']) {
      expect((await convert('empty', to)).code).toBe(0);
      const found = await tableIn('empty');
      expect([found.numRows, found.schema.fields.map(String)]).toEqual([0, ['id: Int32']]);
    }
  });

  it('names the tags that do not come along, and the table as it was can be brought back', async () => {
    await ask('past', 'create', { body: streamOf([1]) });
    await ask('past', 'tags/create', { body: { tag: 'first', version: 1 } });
    await ask('past', 'insert', { body: streamOf([2]) });
    const { out } = await convert('past', 'lance');
    expect(out).toContain('tag "first" did not come along');
    expect(await idsOf('past')).toEqual([1, 2]);
    const undropped = await service.command('catalog', 'undrop', '/past', '--as', '/older');
    expect(undropped.code).toBe(0);
    const old = await ask('older', 'count_rows', { body: { tag: 'first' } });
    expect([old.status, old.text]).toEqual([200, '1']);
  });

  it('builds the indices again that the other format has, there and back', async () => {
    const count = 300;
    const ids = Array.from({ length: count }, (_, at) => at);
    const columns = [
      { name: 'id', type: new Int32(), values: ids },
      { name: 'kind', type: new Utf8(), values: ids.map((id) => `k${id % 5}`) },
      { name: 'words', type: new Utf8(), values: ids.map((id) => `Haus ${id} und der Fuchs`) },
      { name: 'v', type: vector, values: ids.map((id) => [Math.cos(id), Math.sin(id)]) },
      { name: 'near', type: vector, values: ids.map((id) => [id, -id]) },
    ];
    await ask('indexed', 'create', { body: arrow.tableToIPC(tableOf(columns), 'stream') });
    const asked: readonly object[] = [
      { column: 'id', index_type: 'BTREE', name: 'by id' },
      { column: 'kind', index_type: 'BITMAP' },
      {
        column: 'words',
        index_type: 'FTS',
        language: 'German',
        with_position: true,
        remove_stop_words: false,
        max_token_length: null,
      },
      { column: 'v', index_type: 'IVF_PQ', distance_type: 'cosine' },
      { column: 'near', index_type: 'IVF_FLAT', distance_type: 'l2' },
    ];
    for (const index of asked) {
      expect((await ask('indexed', 'create_index', { body: index })).status).toBe(200);
    }
    const names = ['by id', 'kind_idx', 'near_idx', 'v_idx', 'words_idx'];
    const search = { vector: [1, 0], vector_column: 'v', k: 1, distance_type: 'cosine' };
    for (const to of ['lance', 'arrow', 'lance']) {
      await built('indexed', names.length);
      const { code, out } = await convert('indexed', to, '--json');
      expect([code, JSON.parse(out)]).toEqual([
        0,
        expect.objectContaining({ indices: [], building: expect.arrayContaining(names) }),
      ]);
      const found = await built('indexed', names.length);
      expect(found.map(({ index_name, columns: [column] }) => [index_name, column])).toEqual([
        ['by id', 'id'],
        ['kind_idx', 'kind'],
        ['near_idx', 'near'],
        ['v_idx', 'v'],
        ['words_idx', 'words'],
      ]);
      const stats = await ask('indexed', 'index/v_idx/stats');
      expect(stats.json).toMatchObject({ distance_type: 'cosine', num_indexed_rows: count });
      const phrase = {
        full_text_query: { query: { phrase: { terms: 'und der', column: 'words' } } },
      };
      for (const body of [search, { ...phrase, vector: [], k: 1 }]) {
        const reply = await ask('indexed', 'query', { body });
        expect([reply.status, arrow.tableFromIPC(reply.bytes).numRows]).toEqual([200, 1]);
      }
    }
  });

  it('builds indices that were asked for, and not built yet', async () => {
    const ids = Array.from({ length: 300 }, (_, at) => at);
    const columns = [
      { name: 'id', type: new Int32(), values: ids },
      { name: 'words', type: new Utf8(), values: ids.map((id) => `Haus ${id} und der Fuchs`) },
      { name: 'v', type: vector, values: ids.map((id) => [Math.cos(id), Math.sin(id)]) },
    ];
    await ask('early', 'create', { body: arrow.tableToIPC(tableOf(columns), 'stream') });
    const words = { column: 'words', index_type: 'FTS', language: 'German', with_position: true };
    const rounds = [
      ['lance', { ...words, name: 'a', remove_stop_words: false }],
      ['lance', { column: 'v', index_type: 'IVF_FLAT', distance_type: 'cosine', name: 'b' }],
      ['arrow', { column: 'id', index_type: 'BTREE', name: 'c' }],
      ['arrow', { ...words, name: 'd', remove_stop_words: false }],
      ['arrow', { column: 'v', index_type: 'IVF_PQ', distance_type: 'dot', name: 'e' }],
    ] as const;
    const names: string[] = [];
    for (const to of ['lance', 'arrow'] as const) {
      for (const [, body] of rounds.filter(([round]) => round === to)) {
        expect((await ask('early', 'create_index', { body })).status).toBe(200);
        names.push(body.name);
      }
      await service.end('SIGKILL');
      const { code, out } = await convert('early', to, '--json');
      const building = expect.arrayContaining(names);
      expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ building })]);
      await restart();
      expect((await built('early', names.length)).map((one) => one.index_name)).toEqual(names);
      const phrase = { query: { phrase: { terms: 'und der', column: 'words' } } };
      const body = { full_text_query: phrase, vector: [], k: 400 };
      const reply = await ask('early', 'query', { body });
      expect([reply.status, arrow.tableFromIPC(reply.bytes).numRows]).toEqual([200, 300]);
    }
    const distances = await Promise.all(
      ['b', 'e'].map(async (name) => (await ask('early', `index/${name}/stats`)).json),
    );
    expect(distances).toMatchObject([{ distance_type: 'cosine' }, { distance_type: 'dot' }]);
  });

  it('names the indices that the other format has not, with the reason', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => at);
    const columns = [
      { name: 'id', type: new Int32(), values: ids },
      { name: 'w', type: new Utf8(), values: ids.map((id) => `w ${id}`) },
      { name: 'v', type: vector, values: ids.map((id) => [id, -id]) },
    ];
    await ask('lossy', 'create', { body: arrow.tableToIPC(tableOf(columns), 'stream') });
    const asked = [
      { column: 'w', index_type: 'FTS', name: 'stopped', custom_stop_words: ['w'] },
      { column: 'v', index_type: 'IVF_PQ', name: 'trained' },
    ];
    for (const body of asked) await ask('lossy', 'create_index', { body });
    await built('lossy', 2);
    const { out } = await convert('lossy', 'lance');
    expect(out).toContain('index "stopped" (');
    expect(out).toContain(
      '"trained" (the Lance library builds an index of type IVF_PQ of 256 rows',
    );
    expect(out).toContain('did not come along');
    const fm = { column: 'w', index_type: 'FM', name: 'parts' };
    expect((await ask('lossy', 'create_index', { body: fm })).status).toBe(200);
    await built('lossy', 1);
    const back = await convert('lossy', 'arrow', '--json');
    expect(JSON.parse(back.out)).toMatchObject({ indices: ['parts'], building: [] });
    expect((await ask('lossy', 'index/list')).json['indexes']).toEqual([]);
  });

  it('is recorded', async () => {
    await ask('seen', 'create', { body: streamOf([1]) });
    await convert('seen', 'lance');
    const records = (await service.audit()).filter(
      ({ operation, object }) => operation === 'CatalogConvert' && object === '/seen',
    );
    expect(records).toMatchObject([
      { phase: 'attempt', context: { to: 'lance' } },
      { phase: 'outcome', context: { to: 'lance', version: '1', rows: '1', tags: '0' } },
    ]);
  });
});

describe('beside others', () => {
  it('readers get whole answers, and no acknowledged row is lost', async () => {
    await ask('busy', 'create', { body: streamOf(Array.from({ length: 2000 }, (_, id) => id)) });
    const acknowledged: number[] = [];
    const state = { isDone: false };
    const read = async (): Promise<void> => {
      while (!state.isDone) {
        const reply = await ask('busy', 'count_rows');
        expect(reply.status).toBe(200);
        expect(Number(reply.text)).toBeGreaterThanOrEqual(2000);
      }
    };
    const write = async (): Promise<void> => {
      for (let id = 10_000; !state.isDone; id++) {
        const reply = await ask('busy', 'insert', { body: streamOf([id]) });
        if (reply.status === 200) acknowledged.push(id);
        await new Promise((resolve) => setTimeout(resolve, 400));
      }
    };
    const others = [read(), read(), write()];
    const codes: (number | null)[] = [];
    for (const to of ['lance', 'arrow', 'lance']) codes.push((await convert('busy', to)).code);
    state.isDone = true;
    await Promise.all(others);
    expect(codes.every((code) => code === 0 || code === 2)).toBe(true);
    const ids = await idsOf('busy');
    expect(ids.filter((id) => id >= 10_000)).toEqual(expect.arrayContaining(acknowledged));
    expect(new Set(ids).size).toBe(ids.length);
  });

  const kills = casesOf(4, 30);

  it(`that is killed ${kills} times leaves the table as it was, or as it is to be`, async () => {
    const ids = Array.from({ length: 200_000 }, (_, id) => id);
    const indices = ['id_idx', 'other'];
    await ask('killed', 'create', { body: streamOf(ids) });
    for (const name of indices) {
      const body = { column: 'id', index_type: 'BTREE', name };
      expect((await ask('killed', 'create_index', { body })).status).toBe(200);
    }
    const next = async () =>
      (await ask('killed', 'describe')).json['location'] === undefined ? 'lance' : 'arrow';
    for (let kill = 0; kill < kills; kill++) {
      await killConversion(await next(), kill);
      // The service dies with it, sometimes, and with the builds of indices.
      if (kill % 3 === 1) {
        await service.end('SIGKILL');
        await restart();
      }
      expect((await ask('killed', 'count_rows')).text).toBe(String(ids.length));
    }
    await built('killed', indices.length);
    expect((await convert('killed', await next())).code).toBe(0);
    expect((await built('killed', 2)).map(({ index_name }) => index_name)).toEqual(indices);
    expect(await idsOf('killed')).toEqual(ids);
    await service.end();
    expect((await service.command('catalog', 'gc', '--older-than', '0s')).code).toBe(0);
    expect((await folders()).filter((name) => name.endsWith('.lance')).length).toBe(
      (await readdir(join(service.data, 'lance'))).length,
    );
    const verified = await service.command('catalog', 'verify');
    expect([verified.code, verified.out + verified.err]).toEqual([
      0,
      expect.stringContaining('nothing is wrong'),
    ]);
    await restart();
  });

  /** Begins a conversion and kills it: once it has made a folder, or some time after its start. */
  async function killConversion(to: string, kill: number): Promise<void> {
    const main = join(import.meta.dirname, '../../dist/cli/main.js');
    const words = ['catalog', 'convert', '/killed', '--to', to, '--data', service.data];
    const child = spawn(process.execPath, [main, ...words, '--policies', service.policies], {
      cwd: service.folder,
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    const before = (await readdir(join(service.data, 'tables'))).length;
    if (kill % 2 === 0) {
      const made = async () => (await readdir(join(service.data, 'tables'))).length > before;
      await waitUntil(async () => child.exitCode !== null || (await made()));
    }
    await new Promise((resolve) => setTimeout(resolve, 150 * (kill % 5)));
    child.kill('SIGKILL');
    await ended;
  }
});

describe('a refusal', () => {
  it.each([
    ['kept', 'the commit rule kept refuses this of /kept'],
    ['history', 'versions of the table may not be removed'],
    ['tagged', 'the tag "gold" is protected'],
  ])('of a commit rule leaves %s as it was', async (name, sentence) => {
    await ask(name, 'create', { body: streamOf([1]) });
    await ask(name, 'tags/create', { body: { tag: 'gold', version: 1 } });
    const before = await folders();
    const { code, err } = await convert(name, 'lance');
    expect([code, err]).toEqual([2, expect.stringContaining(sentence)]);
    expect((await ask(name, 'describe')).json['location']).toBeUndefined();
    expect(await folders()).toEqual(before);
  });

  it('is not given where rules keep rows', async () => {
    await ask('log', 'create', { body: streamOf([1]) });
    expect((await convert('log', 'lance')).code).toBe(0);
  });

  it.each([
    ['none', 'lance', 'arrowgate: table /none does not exist'],
    ['t', 'arrow', 'arrowgate: table /t has the format arrow already'],
    ['t', 'delta', 'arrowgate: --to takes one of arrow, lance, not "delta"'],
    ['declared', 'lance', 'arrowgate: table /declared is declared and has no data'],
    [
      'forked',
      'lance',
      'arrowgate: table /forked has branches, which a conversion does not keep: delete "dev" first',
    ],
  ])('of %s to %s says why', async (name, to, sentence) => {
    await ask('t', 'create?mode=exist_ok', { body: streamOf([1]) });
    await ask('declared', 'declare', { body: {} });
    await ask('forked', 'create?mode=exist_ok', { body: streamOf([1]) });
    await ask('forked', 'branches/create', { body: { name: 'dev' } });
    const { code, err } = await convert(name, to);
    expect([code, err]).toEqual([2, `${sentence}\n`]);
  });

  it('is what the library is not there for', async () => {
    await ask('alone', 'create', { body: streamOf([1]) });
    await service.configure('lance: { engine: off }\n');
    const { code, err } = await convert('alone', 'lance');
    await service.configure('');
    expect([code, err]).toEqual([
      2,
      'arrowgate: table /alone is converted by the Lance library: set lance.engine to auto\n',
    ]);
  });
});
