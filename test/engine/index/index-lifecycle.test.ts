import {
  Field,
  Int32,
  Int64,
  List,
  tableFromIPC,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomOf, type Random } from '../../service/random.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { streamOf } from '../../support/engine-table.ts';
import { buildIndex, posting, untilIndexed } from '../../support/indices.ts';
import { bytesOf } from '../../support/query-answer.ts';
import { ask } from '../../support/request.ts';

/* Two tables get the same statements, one of them has indices: their answers stay the same. */

let engine: TestEngine;
const faults: unknown[] = [];
const SEED = Date.now() % 2 ** 31;
const random = randomOf(SEED);

beforeAll(async () => {
  engine = await freshEngine();
  engine.startWork((error) => faults.push(error));
  await both('create', rowsOf(random, 1500));
  for (const [column, index_type] of Object.entries(indices)) {
    const built = await buildIndex(engine.backend, 'indexed', { column, index_type });
    expect(built.status).toBe('SUCCEEDED');
  }
});

afterAll(async () => {
  await engine.close();
  expect(faults).toEqual([]);
});

const indices = { k: 'BTREE', s: 'BTREE', c: 'BITMAP', tags: 'LABEL_LIST' };
const words = ['', 'a', 'b', 'ab', 'é', '😀', '\ufb01'];
const list = new List(new Field('item', new Utf8(), true));

function rowsOf(next: Random, count: number): Uint8Array {
  const column = (of: () => unknown, type: Int64 | Int32 | Utf8 | List<Utf8>): Vector =>
    vectorFromArray(
      Array.from({ length: count }, () => (next(12) === 0 ? null : of())),
      type,
    );
  const word = () => words[next(words.length)];
  return streamOf({
    k: column(() => 2n ** 60n + BigInt(next(900)), new Int64()),
    s: column(() => `${word()}${next(40)}`, new Utf8()),
    c: column(() => next(6), new Int32()),
    tags: column(() => Array.from({ length: next(4) }, () => (next(6) ? word() : null)), list),
  });
}

/** Filters of some kinds with values of chance. */
function filters(next: Random): readonly string[] {
  const word = () => words[next(words.length)]!;
  const key = () => String(2n ** 60n + BigInt(next(900)));
  return [
    `k = ${key()}`,
    `k in (${key()}, ${key()}, ${key()})`,
    `k > ${key()} and c = ${next(6)}`,
    `k < ${key()} or s = '${word()}${next(40)}'`,
    'k is null',
    `s like '${word()}1%'`,
    `s >= '${word()}' and s < '${word()}3'`,
    `c in (${next(6)}, ${next(6)}) and not (k > ${key()})`,
    'c is null or tags is null',
    `array_has(tags, '${word()}') and c != ${next(6)}`,
    `array_has_all(tags, ['${word()}', '${word()}'])`,
    `array_has_any(tags, ['${word()}', '${word()}']) and k is not null`,
  ];
}

async function both(action: string, body: Uint8Array | object): Promise<void> {
  const sent = { body };
  const answers = [];
  for (const table of ['indexed', 'plain']) {
    const line = `POST /v1/table/${table}/${action}`;
    answers.push(await ask(engine.backend, line, sent).then(() => 'done', String));
  }
  expect(answers[0], action).toBe(answers[1]);
}

/** The versions that the tables had when they had the same rows. */
const moments: More[] = [];

/** What else is asked of the tables; versions are each table's own. */
interface More {
  readonly versions?: Readonly<Record<string, number>>;
  readonly branch?: string;
}

async function versionOf(table: string): Promise<number> {
  return ((await posting(engine.backend)(table, 'describe')) as { version: number }).version;
}

/** Compares the answers, and keeps the versions to be asked for again. */
async function remember(): Promise<void> {
  await same();
  const [indexed, plain] = [await versionOf('indexed'), await versionOf('plain')];
  moments.push({ versions: { indexed, plain } });
}

async function answer(table: string, filter: string, { versions, branch }: More): Promise<string> {
  const version = versions?.[table];
  const place = {
    ...(version !== undefined && { version }),
    ...(branch !== undefined && { branch }),
  };
  const body = { vector: [], columns: ['_rowoffset'], with_row_id: true, filter, ...place };
  const line = `POST /v1/table/${table}/query`;
  return ask(engine.backend, line, { body }).then(async (sent) => {
    const rows = tableFromIPC(await bytesOf(sent.body));
    return ['_rowid', '_rowoffset'].map((name) => rows.getChild(name)!.toArray().join()).join(' ');
  }, String);
}

async function same(more: More = {}, asked = filters(random)): Promise<void> {
  for (const filter of asked) {
    const [found, right] = [
      await answer('indexed', filter, more),
      await answer('plain', filter, more),
    ];
    expect(found, `${filter} (seed ${SEED})`).toBe(right);
  }
}

const files = async (): Promise<number> => {
  const described = await posting(engine.backend)('indexed', 'stats');
  return (described as { fragment_stats: { num_fragments: number } }).fragment_stats.num_fragments;
};

const names = async (more: object = {}): Promise<readonly string[]> => {
  const { indexes } = (await posting(engine.backend)('indexed', 'index/list', more)) as unknown as {
    indexes: readonly { index_name: string }[];
  };
  return indexes.map((index) => index.index_name);
};

const ALL = ['c_idx', 'k_idx', 's_idx', 'tags_idx'];

describe('answers by indices', () => {
  it('stay right before, while and after small files are merged', async () => {
    for (let part = 0; part < 40; part++) {
      await both('insert', rowsOf(random, 3));
      if (part === 12) await both('delete', { predicate: `c = 1 and s < 'a'` });
      if (part === 0) {
        await both('update', {
          predicate: 'c = 2',
          updates: [
            ['s', "s || '!'"],
            ['k', 'k + 1'],
          ],
        });
      }
      if (part % 20 === 0) await remember();
    }
    while ((await files()) > 20) await same();
    await remember();
    await both('delete', { predicate: 'k % 7 = 3' });
    await same();
    await untilIndexed(engine.backend, 'indexed');
    await same();
    expect(engine.readings()!.compactions).toBeGreaterThan(0);
  });

  it('are those of their version, their branch and their tag', async () => {
    for (const moment of moments) await same(moment);
    await both('branches/create', { name: 'b' });
    await both('insert?branch=b', rowsOf(random, 40));
    await both('delete', { predicate: 'c = 3', branch: 'b' });
    await same({ branch: 'b' });
    await untilIndexed(engine.backend, 'indexed', { branch: 'b' });
    await same({ branch: 'b' });
    await posting(engine.backend)('indexed', 'index/c_idx/drop', { branch: 'b' });
    await same({ branch: 'b' });
    await same();
  });

  it('stay right when columns are renamed, cast and dropped, and when a version is restored', async () => {
    expect(await names()).toEqual(ALL);
    const older = { indexed: await versionOf('indexed'), plain: await versionOf('plain') };
    await both('alter_columns', { alterations: [{ path: 'k', rename: 'key' }] });
    await same({}, ['key is null', `key > ${2n ** 60n + 450n}`, `key = ${2n ** 60n + 77n}`]);
    await both('alter_columns', { alterations: [{ path: 'c', data_type: { type: 'int64' } }] });
    await same({}, ['c = 2', 'c is null', 'c > 4 and key is not null']);
    await both('add_columns', { new_columns: [{ name: 'd', expression: 'c % 3' }] });
    const built = await buildIndex(engine.backend, 'indexed', {
      column: 'd',
      index_type: 'BITMAP',
    });
    expect(built.status).toBe('SUCCEEDED');
    await same({}, ['d = 1', 'd is null', 'd in (0, 2) and c = 4']);
    await both('update', { predicate: 'd = 1', updates: [['d', '7']] });
    await same({}, ['d = 1', 'd = 7']);
    await both('drop_columns', { columns: ['d', 'tags'] });
    expect(await names()).not.toContain('tags_idx');
    await same({}, ["s like 'a%'", 'd = 7']);
    for (const [table, version] of Object.entries(older)) {
      await posting(engine.backend)(table, 'restore', { version });
    }
    expect(await names()).toEqual(ALL);
    await same();
    await both('insert', rowsOf(random, 30));
    await untilIndexed(engine.backend, 'indexed');
    await same();
  });
});
