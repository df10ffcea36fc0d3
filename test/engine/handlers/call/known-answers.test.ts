import { setImmediate as nextTurn } from 'node:timers/promises';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedBackend } from '../../../../src/engine/handlers/call/backend.ts';
import { OwnStore } from '../../../../src/engine/catalog/records/own-store.ts';
import type { Basis, Call } from '../../../../src/engine/handlers/call/handler.ts';
import { KnownAnswers } from '../../../../src/engine/handlers/call/known-answers.ts';
import { openEmbeddedStore } from '../../../../src/store/embedded/store.ts';
import type { ReadCheck, Store } from '../../../../src/store/store.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { freshEngine, openOther, type TestEngine } from '../../../support/engine.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { TestPermit } from '../../../support/permit.ts';
import { ask, lancedb, type Sent } from '../../../support/request.ts';
import { streamOf } from '../../../support/table-client.ts';

const DESCRIBE = 'POST /v1/table/a$t/describe';

describe('an answer that is given again', () => {
  const newFolder = testFolders();
  let store: Store;
  let made: number;
  let newest: Basis['newest'];
  let basis: (call: Call) => readonly ReadCheck[];
  let backend: EmbeddedBackend;

  const write = (key: string, text: string | null) =>
    store.commit([], [{ key, value: text === null ? null : Buffer.from(text) }]);
  const value = (key: string, text: string): ReadCheck => {
    return { kind: 'value', key, value: Buffer.from(text) };
  };

  beforeEach(async () => {
    store = await openEmbeddedStore(await newFolder());
    await write('C', 'catalog');
    await write('T', 'table');
    const own = new OwnStore(store, 'catalog');
    made = 0;
    newest = null;
    basis = () => [value('T', 'table')];
    const answer = async (call: Call) => {
      await own.get('T');
      made += 1;
      call.reportBasis?.({ records: basis(call), newest });
      return { status: 200, body: `${made}` };
    };
    backend = new EmbeddedBackend({
      handlers: { DescribeTable: answer, QueryTable: answer, UpdateTable: answer },
      known: new KnownAnswers(own),
      jsonBody: 1000,
      health: async () => undefined,
      weakness: async () => undefined,
    });
  });

  afterEach(() => store.close());

  /** Asks several times; answers how often the answer was made. */
  async function times(count: number, line = DESCRIBE, sent: Sent = {}): Promise<number> {
    const before = made;
    for (let time = 0; time < count; time++) await ask(backend, line, sent);
    return made - before;
  }

  it('is not made again while what it was made of stays as it is', async () => {
    expect(await times(5)).toBe(1);
    await write('other', 'x');
    await write('T', 'table');
    expect(await times(5)).toBe(0);
    await write('T', 'another table');
    // It says that it was made of what is not there.
    expect(await times(3)).toBe(3);
    basis = () => [value('T', 'another table')];
    expect(await times(5)).toBe(1);
    await write('T', null);
    expect(await times(3)).toBe(3);
  });

  it('is found by all that it depends on', async () => {
    const asked: readonly (readonly [string, Sent?])[] = [
      [DESCRIBE],
      ['POST /v1/table/a/describe'],
      ['POST /v1/table/a$t$t/describe'],
      [DESCRIBE, { headers: lancedb }],
      [DESCRIBE, { body: { version: 1 } }],
      [DESCRIBE, { body: { version: 2 } }],
      [DESCRIBE, { body: { branch: 'b' } }],
    ];
    for (const [line, sent] of asked)
      expect([line, sent, await times(1, line, sent)]).toEqual([line, sent, 1]);
    for (const [line, sent] of asked)
      expect([line, sent, await times(2, line, sent)]).toEqual([line, sent, 0]);
    // Names may be joined as one likes, and nothing said is an empty body.
    expect(await times(2, 'POST /v1/table/a.t/describe?delimiter=.')).toBe(0);
    expect(await times(2, DESCRIBE, { body: '{}' })).toBe(0);
  });

  it.each([
    ['with parameters', `${DESCRIBE}?with_table_uri=false`, {}],
    ['with a long body', DESCRIBE, { body: { context: { note: 'x'.repeat(300) } } }],
    ['of rows', 'POST /v1/table/t/query', { body: { k: 1, vector: [] } }],
    ['of a change', 'POST /v1/table/t/update', { body: { updates: [['a', '1']] } }],
  ])('is not kept of a request %s', async (_, line, sent) => {
    expect(await times(3, line, sent)).toBe(3);
  });

  it('is given to a client that has seen nothing newer', async () => {
    const seen = (version: string, read = 'x') => ({
      headers: { 'x-lancedb-min-version': version, 'x-lancedb-min-read-version': read },
    });
    newest = 3n;
    expect(await times(2)).toBe(1);
    for (const sent of [seen('3'), seen('1', '3'), seen('no number')]) {
      expect(await times(2, DESCRIBE, sent)).toBe(0);
    }
    for (const sent of [seen('4'), seen('1', '4'), seen('99999999999999999999')]) {
      expect(await times(2, DESCRIBE, sent)).toBe(2);
    }
    expect(await times(2)).toBe(0);
    newest = undefined;
    await write('T', 'x');
    await times(1);
    basis = () => [value('T', 'x')];
    expect(await times(3)).toBe(1);
    expect(await times(2, DESCRIBE, seen('0'))).toBe(2);
    newest = null;
    await times(1, DESCRIBE, seen('0'));
    expect(await times(2, DESCRIBE, seen('7'))).toBe(0);
  });

  it('is not kept where it would be dear to look whether it holds', async () => {
    basis = () => Array.from({ length: 70 }, () => value('T', 'table'));
    expect(await times(3)).toBe(3);
    basis = () => [value('T', 'x'.repeat(300_000))];
    expect(await times(3)).toBe(3);
  });

  it('is not given to who may not have it, in the words of the first time', async () => {
    const may = new Set(['@main', '@b']);
    const permit = () => new TestPermit({ holds: (_, __, branch) => may.has(`@${branch ?? ''}`) });
    const onBranch = { body: { branch: 'b' } };
    for (const sent of [{}, onBranch])
      expect(await times(2, DESCRIBE, { ...sent, permit: permit() })).toBe(1);
    expect((await ask(backend, DESCRIBE, { ...onBranch, permit: permit() })).branch).toBe('b');
    const asked = permit();
    await ask(backend, DESCRIBE, { ...onBranch, permit: asked });
    expect(asked.required).toEqual(['DescribeTable /a/t@b']);
    may.clear();
    for (const sent of [{}, onBranch]) {
      expect(await refusalOf(ask(backend, DESCRIBE, { ...sent, permit: permit() }))).toBe(
        '15 PermissionDenied: user:tester may not DescribeTable on /a/t',
      );
    }
    expect(made).toBe(2);
  });

  it('is given to callers whom the same restrictions bind, and to no others', async () => {
    const under = (region: string): Sent => {
      const rows = [{ restriction: 'own', sql: `region = '${region}'` }];
      const restrictions = { names: ['own'], rows, columns: [] };
      return { permit: new TestPermit({ restrictionsOn: () => restrictions }) };
    };
    expect(await times(2)).toBe(1);
    expect(await times(2, DESCRIBE, under('eu'))).toBe(1);
    expect(await times(2, DESCRIBE, under('us'))).toBe(1);
    expect(await times(2, DESCRIBE, under('eu'))).toBe(0);
    expect(await times(2)).toBe(0);
    await write('T', 'x');
    expect(await times(1, DESCRIBE, under('eu'))).toBe(1);
  });

  it('notes each time the canary that a request names', async () => {
    const canary = { restriction: 'own', keys: [[{ column: 'id', value: '9e0' }]], freeze: false };
    const restrictions = { names: ['own'], rows: [], columns: [], canaries: [canary] };
    const noted: string[] = [];
    const sent = (body: object): Sent => ({
      body,
      permit: new TestPermit({ restrictionsOn: () => restrictions }),
      noteCanaries: (named) => noted.push(...named.map((each) => each.restriction)),
    });
    expect(await times(2, DESCRIBE, sent({ filter: 'id = 9' }))).toBe(2);
    expect(noted).toEqual(['own', 'own']);
    expect(await times(2, DESCRIBE, sent({ filter: 'id = 8' }))).toBe(1);
    expect(noted).toEqual(['own', 'own']);
  });

  it('is not given when the store is another, or none', async () => {
    expect(await times(2)).toBe(1);
    await write('C', 'other');
    expect(await refusalOf(ask(backend, DESCRIBE))).toMatch(
      /^17 ServiceUnavailable: .* it carries other$/,
    );
    await write('C', 'catalog');
    expect(await times(2)).toBe(0);
    await store.close();
    await nextTurn();
    expect(await refusalOf(ask(backend, DESCRIBE))).toBe(
      '17 ServiceUnavailable: the store of the catalog does not answer',
    );
    expect(made).toBe(1);
  });
});

describe('an answer of a store that has to be waited for', () => {
  it('is given again for one look, once it was the same twice', async () => {
    const store = new MemoryStore();
    const write = (key: string, text: string) =>
      store.commit([], [{ key, value: Buffer.from(text) }]);
    await write('C', 'catalog');
    await write('T', '1');
    const own = new OwnStore(store, 'catalog');
    let reads = 0;
    let made = 0;
    const counted = {
      getMany: (keys: readonly string[]) => {
        reads += 1;
        return own.getMany(keys);
      },
    };
    const backend = new EmbeddedBackend({
      handlers: {
        DescribeTable: async (call) => {
          const [table, absent] = await counted.getMany(['T', 'N']);
          const [again] = await counted.getMany(['T']);
          made += 1;
          expect([again, absent]).toEqual([table, undefined]);
          const records: readonly ReadCheck[] = [
            { kind: 'value', key: 'T', value: table! },
            { kind: 'value', key: 'N', value: null },
          ];
          call.reportBasis?.({ records, newest: null });
          return { status: 200, body: String(table) };
        },
      },
      known: new KnownAnswers(counted),
      jsonBody: 1000,
      health: async () => undefined,
      weakness: async () => undefined,
    });
    /** What is answered, how often the store was read for it and how often the answer was made. */
    const asked = async () => {
      await nextTurn();
      const before = [reads, made] as const;
      const { body } = await ask(backend, DESCRIBE);
      return [body, reads - before[0], made - before[1]];
    };
    expect([await asked(), await asked(), await asked(), await asked()]).toEqual([
      ['1', 2, 1],
      ['1', 2, 1],
      ['1', 1, 0],
      ['1', 1, 0],
    ]);
    await write('T', '2');
    expect([await asked(), await asked(), await asked()]).toEqual([
      ['2', 3, 1],
      ['2', 2, 1],
      ['2', 1, 0],
    ]);
    await write('C', 'other');
    expect(await refusalOf(asked())).toMatch(/^17 ServiceUnavailable: .* it carries other$/);
    await write('C', 'catalog');
    expect(await asked()).toEqual(['2', 1, 0]);
    const refused = new TestPermit({ holds: () => false });
    expect(await refusalOf(ask(backend, DESCRIBE, { permit: refused }))).toMatch(/^15 /);
    expect(made).toBe(4);
  });
});

describe('small reads of two processes', () => {
  let engine: TestEngine;

  beforeEach(async () => {
    engine = await freshEngine();
  });

  afterEach(() => engine.close());

  const rows = (...k: bigint[]) => ({ body: streamOf({ k: vectorFromArray(k, new Int64()) }) });
  const reads: readonly (readonly [string, Sent])[] = [
    ['POST /v1/namespace/n/describe', {}],
    ['POST /v1/namespace/n/exists', {}],
    ...['n$t', 'n$u'].flatMap((name): readonly (readonly [string, Sent])[] => [
      [`POST /v1/table/${name}/describe`, {}],
      [`POST /v1/table/${name}/describe`, { body: { version: 1 } }],
      [`POST /v1/table/${name}/describe`, { body: { branch: 'b' } }],
      [`POST /v1/table/${name}/describe`, { body: { tag: 'one' } }],
      [`POST /v1/table/${name}/describe`, { body: { vend_credentials: true } }],
      [`POST /v1/table/${name}/exists`, {}],
      [`POST /v1/table/${name}/exists`, { body: { version: 2 } }],
      [`POST /v1/table/${name}/count_rows`, {}],
      [`POST /v1/table/${name}/count_rows`, { body: { predicate: 'k > 1' } }],
      [`POST /v1/table/${name}/count_rows`, { body: { branch: 'b' } }],
      [`POST /v1/table/${name}/stats`, {}],
      [`POST /v1/table/${name}/version/describe`, {}],
      [`POST /v1/table/${name}/version/describe`, { body: { version: 1 } }],
      [`POST /v1/table/${name}/tags/list`, {}],
      [`POST /v1/table/${name}/tags/list`, { body: { limit: 1 } }],
      [`POST /v1/table/${name}/tags/list`, { headers: lancedb }],
    ]),
  ];
  /** Each is asked of one process; after each both answer every read as if nothing were kept. */
  const changes: readonly (readonly [string, Sent?])[] = [
    ['POST /v1/namespace/n/create', { body: { properties: { a: '1' } } }],
    ['POST /v1/table/n$t/create', rows(1n, 2n)],
    ['POST /v1/table/n$t/insert', rows(3n)],
    ['POST /v1/table/n$t/tags/create', { body: { tag: 'one', version: 1 } }],
    ['POST /v1/table/n$t/tags/create', { body: { tag: 'two', version: 2 } }],
    ['POST /v1/table/n$t/tags/update', { body: { tag: 'one', version: 2 } }],
    ['POST /v1/table/n$t/branches/create', { body: { name: 'b', version: 1 } }],
    ['POST /v1/table/n$t/insert?branch=b', rows(4n)],
    ['POST /v1/table/n$t/delete', { body: { predicate: 'k = 1' } }],
    ['POST /v1/table/n$t/branches/delete', { body: { name: 'b' } }],
    ['POST /v1/table/n$t/branches/create', { body: { name: 'b', version: 3 } }],
    ['POST /v1/table/n$t/tags/delete', { body: { tag: 'two' } }],
    ['POST /v1/table/n$t/restore', { body: { version: 1 } }],
    ['POST /v1/table/n$t/add_columns', { body: { new_columns: [{ name: 'x', expression: 'k' }] } }],
    [
      'POST /v1/table/n$t/version/delete',
      { body: { ranges: [{ start_version: 2, end_version: 3 }] } },
    ],
    ['POST /v1/table/n$t/rename', { body: { new_table_name: 'u', new_namespace_id: ['n'] } }],
    ['POST /v1/table/n$t/declare', {}],
    ['POST /v1/table/n$t/drop', {}],
    ['POST /v1/table/n$t/create', rows(9n)],
    ['POST /v1/table/n$t/create?mode=overwrite', rows(7n, 8n)],
    ['POST /v1/table/n$u/deregister', {}],
    ['POST /v1/table/n$t/drop', {}],
    ['POST /v1/namespace/n/drop', {}],
    ['POST /v1/namespace/n/create', { body: { properties: { a: '2' } } }],
  ];

  /** What is answered, or refused. */
  async function said({ backend }: Pick<TestEngine, 'backend'>, line: string, sent: Sent) {
    try {
      const { status, body, headers, branch } = await ask(backend, line, sent);
      return { line, sent, status, body, headers, branch };
    } catch (error) {
      return { line, sent, error };
    }
  }

  it('answer what is there, however often they are called', async () => {
    const other = await openOther(engine);
    const both = [engine, other];
    try {
      for (const [at, [line, sent = {}]] of changes.entries()) {
        await ask(both[at % 2]!.backend, line, sent);
        for (const [read, asked] of reads) {
          // Of a body so long no answer is kept.
          const body = { ...(asked.body as object), context: { note: 'x'.repeat(300) } };
          const { sent: _, ...expected } = await said(engine, read, { ...asked, body });
          for (const one of [...both, ...both]) {
            expect([line, await said(one, read, asked)]).toMatchObject([line, expected]);
          }
        }
      }
    } finally {
      await other.close();
    }
  });
});

describe('the records of an answer', () => {
  it('are compared once for the requests of a turn of the event loop, and again in the next turn', async () => {
    let compared = 0;
    let holds = true;
    const watch = { holds: () => (compared++, holds) };
    const known = new KnownAnswers({ watch: () => watch, getMany: async () => [] });
    const answer = { status: 200, body: 'known' };
    known.keep('question', answer, { records: [], newest: null });
    const found = async () => known.find('question', { headers: {} });
    expect(await Promise.all([found(), found(), found()])).toEqual([answer, answer, answer]);
    expect(compared).toBe(1);
    holds = false;
    await nextTurn();
    expect(await Promise.all([found(), found()])).toEqual([undefined, undefined]);
    expect(compared).toBe(2);
  });
});
