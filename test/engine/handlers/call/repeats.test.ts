import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANSWERS } from '../../../../src/engine/catalog/records/keys.ts';
import { AnswerSweep } from '../../../../src/engine/once/answer-sweep.ts';
import { canonicalPath, type ObjectPath } from '../../../../src/protocol/identifier.ts';
import { operations, isOperationName } from '../../../../src/protocol/operations/operations.ts';
import type { OperationName } from '../../../../src/protocol/operations/operation-name.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { freshEngine, openOther, type TestEngine } from '../../../support/engine.ts';
import { TestPermit } from '../../../support/permit.ts';
import { ask, requestOf, type Sent } from '../../../support/request.ts';
import { TableClient } from '../../../support/table-client.ts';
import { changes, numbers, plantAll } from '../../once/repeated-operations.ts';

const WINDOW = 900_000;
let engine: TestEngine;
let now = 0;

beforeEach(async () => {
  now = 1_000_000;
  engine = await freshEngine({ repeatMillis: WINDOW, clock: () => now });
});

afterEach(async () => engine.close());

function post(path: string, sent: Sent = {}, on: Engine = engine) {
  return ask(on.backend, `POST ${path}`, sent);
}

/** Everything in the store, and the names of all files of tables. */
async function everything() {
  const entries = await engine.store.range({ start: '!', end: '\u{10ffff}', limit: 10_000 });
  const files = await readdir(join(engine.data, 'tables'), { recursive: true });
  return {
    entries: entries.map(({ key, value }) => `${key} ${Buffer.from(value).toString('base64')}`),
    files: files.toSorted(),
  };
}

async function keptAnswers(): Promise<number> {
  return (await engine.store.range({ start: ANSWERS, end: 'B', limit: 1000 })).length;
}

/** A right as a test's permit remembers it. */
const rightOf = (action: string, object: ObjectPath, branch?: string): string =>
  `${action} ${canonicalPath(object)}${branch === undefined ? '' : `@${branch}`}`;

const misused = (id: string): string =>
  `13 InvalidInput: the request id ${id} was used before for the same operation on the same object with another body or other parameters`;

/** They keep no answer: what they do is the same each time, or they refuse everything. */
const byItself: ReadonlySet<OperationName> = new Set<OperationName>([
  'CreateTableVersion',
  'BatchCreateTableVersions',
  'BatchCommitTables',
  'CreateFunction',
  'DropTableIndex',
  'PrewarmTableIndex',
  'CreateMaterializedView',
  'RefreshMaterializedView',
  'CherryPickTableBranch',
]);

describe('a change that comes again with the id of its client', () => {
  const names = Object.keys(changes('', '')).filter(isOperationName);

  it.each(names)(
    'is answered like the first, with its rights, and changes nothing: %s',
    async (name) => {
      const job = await plantAll(engine);
      const { line, body } = changes(engine.data, job)[name]!;
      const permit = new TestPermit();
      const first = await ask(engine.backend, line, { body, id: 'id-1', permit });
      const before = await everything();
      const second = await ask(engine.backend, line, { body, id: 'id-1' });
      expect(second).toMatchObject({ status: first.status, body: first.body, json: first.json });
      expect(second.contentType).toBe(first.contentType);
      expect(second.headers).toStrictEqual({ 'x-arrowgate-replayed': 'true' });
      expect(second.commit).toMatchObject({ kind: 'replay', version: null, rowsAdded: 0n });
      expect([second.mode, second.branch]).toStrictEqual([first.mode, first.branch]);
      expect(first.headers).toBeUndefined();
      expect(requestOf(line).operation.name).toBe(name);
      for (const withdrawn of new Set(permit.required)) {
        const less = new TestPermit({
          holds: (...asked) => rightOf(...asked) !== withdrawn,
        });
        const repeat = ask(engine.backend, line, { body, id: 'id-1', permit: less });
        expect(await refusalOf(repeat)).toMatch(/^15 PermissionDenied: user:tester may not /);
      }
      expect(await everything()).toStrictEqual(before);
      const all = new TestPermit();
      await ask(engine.backend, line, { body, id: 'id-1', permit: all });
      expect(new Set(all.required)).toEqual(new Set(permit.required));
    },
  );

  it('takes those of what lies below and cannot be seen', async () => {
    await post('/v1/namespace/ns/create');
    await post('/v1/table/ns$t/create', { body: numbers(1n) });
    const drop = (permit: TestPermit) =>
      post('/v1/namespace/ns/drop', { body: { behavior: 'Cascade' }, id: 'x', permit });
    const unseen = { sees: () => false };
    await drop(new TestPermit(unseen));
    expect((await drop(new TestPermit(unseen))).status).toBe(200);
    const less = new TestPermit({ ...unseen, holds: (action) => action !== 'DropTable' });
    expect(await refusalOf(drop(less))).toBe(
      '15 PermissionDenied: the request was carried out before, with a right that its caller holds no more',
    );
  });

  it('is known of every operation that is built', async () => {
    const missing: string[] = [];
    for (const { name, mutates, routes } of Object.values(operations)) {
      if (!mutates || byItself.has(name) || names.includes(name)) continue;
      const { method, path } = routes[0]!;
      const line = `${method} ${path.replaceAll(/\{\w+\}/g, 'x')}`;
      const refusal = await refusalOf(ask(engine.backend, line, { body: {} }));
      if (!refusal.startsWith('0 Unsupported: this service ')) missing.push(name);
    }
    expect(missing).toStrictEqual([]);
  });

  it('is made again without an id, by another subject, with another id, and on another object', async () => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    await post('/v1/table/u/create', { body: numbers(1n) });
    const table = new TableClient(engine);
    const insert = (sent: Sent, name = 't') =>
      post(`/v1/table/${name}/insert`, { body: numbers(2n), ...sent });
    const bob = new TestPermit();
    Object.defineProperty(bob, 'principal', {
      value: { ...bob.principal, subject: 'user:bob' },
    });
    await insert({ id: 'x' });
    await insert({});
    await insert({});
    await insert({ id: 'x', permit: bob });
    await insert({ id: 'y' });
    await insert({ id: 'x' }, 'u');
    expect(await table.rows()).toHaveLength(6);
    await post('/v1/table/t/delete', { body: { predicate: 'n = 1' }, id: 'x' });
    expect(await table.rows()).toHaveLength(5);
    expect(await new TableClient(engine, 'u').version()).toBe(2);
  });

  it('is the same whatever the order of the keys, the delimiter and the identity', async () => {
    await post('/v1/namespace/a/create', {
      body: { properties: { p: '1', q: '2' }, identity: { auth_token: 'one' } },
      id: 'x',
    });
    const again = await post('/v1/namespace/a/create?delimiter=.', {
      body: '{"identity":{"auth_token":"two"},"properties":{"q":"2","p":"1"}}',
      id: 'x',
    });
    expect(again.headers).toHaveProperty('x-arrowgate-replayed');
  });

  it('still asks for the rights that it needs on a branch', async () => {
    await plantAll(engine);
    const sent = { body: { predicate: 'n = 1', branch: 'side' }, id: 'x' };
    expect((await post('/v1/table/a$t/delete', sent)).branch).toBe('side');
    const permit = new TestPermit({ holds: (_, __, branch) => branch !== 'side' });
    expect(await refusalOf(post('/v1/table/a$t/delete', { ...sent, permit }))).toMatch(/^15 /);
  });
});

describe('an id that is used for something else', () => {
  it.each([
    ['another body', '/v1/table/t/delete', { predicate: 'n = 2' }],
    ['another parameter', '/v1/table/t/delete?branch=main', { predicate: 'n = 1' }],
  ])('is refused: %s', async (_, path, body) => {
    await post('/v1/table/t/create', { body: numbers(1n, 2n) });
    await post('/v1/table/t/delete', { body: { predicate: 'n = 1' }, id: 'x' });
    const before = await everything();
    expect(await refusalOf(post(path, { body, id: 'x' }))).toBe(misused('x'));
    expect(await everything()).toStrictEqual(before);
  });

  it.each([
    ['rows of other values', numbers(3n)],
    ['fewer rows', numbers()],
    ['more rows', numbers(...Array.from({ length: 500 }, (_, n) => BigInt(n)))],
    ['something that is no stream', Buffer.from('rows')],
    ['nothing', Buffer.alloc(0)],
  ])('is refused with %s', async (_, body) => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    await post('/v1/table/t/insert', { body: numbers(2n), id: 'x' });
    const before = await everything();
    expect(await refusalOf(post('/v1/table/t/insert', { body, id: 'x' }))).toBe(misused('x'));
    expect(await everything()).toStrictEqual(before);
  });

  it('is refused with another mode, and with other headers that the operation reads', async () => {
    const body = numbers(1n);
    const headers = { 'x-lance-table-properties': '{"p":"1"}' };
    await post('/v1/table/t/create?mode=overwrite', { body, id: 'x' });
    const refused = [
      post('/v1/table/t/create?mode=exist_ok', { body, id: 'x' }),
      post('/v1/table/t/create?mode=overwrite', { body, id: 'x', headers }),
    ];
    for (const each of refused) expect(await refusalOf(each)).toBe(misused('x'));
    const traced = { 'x-lance-ctx-trace': 'second' };
    const again = await post('/v1/table/t/create?mode=overwrite', {
      body,
      id: 'x',
      headers: traced,
    });
    expect(again.json).toMatchObject({ version: 1 });
  });
});

describe('a request that changed nothing', () => {
  it('is made when it comes again, if it was refused', async () => {
    const create = () => post('/v1/table/a$t/create', { body: numbers(1n), id: 'x' });
    expect(await refusalOf(create())).toMatch(/^1 NamespaceNotFound/);
    expect(await keptAnswers()).toBe(0);
    await post('/v1/namespace/a/create');
    const created = await create();
    expect(created.json).toMatchObject({ version: 1 });
    expect(created.headers).toBeUndefined();
  });

  it('changes nothing the second time either, if it was answered', async () => {
    const skip = { body: { mode: 'skip' }, id: 'x' };
    const first = await post('/v1/namespace/a/drop', skip);
    await post('/v1/namespace/a/create');
    expect((await post('/v1/namespace/a/drop', skip)).body).toBe(first.body);
    await post('/v1/namespace/a/describe');
    const existing = { body: numbers(1n), id: 'y' };
    await post('/v1/table/t/create', { body: numbers(1n, 2n) });
    await post('/v1/table/t/create?mode=exist_ok', existing);
    await post('/v1/table/t/drop');
    const again = await post('/v1/table/t/create?mode=exist_ok', existing);
    expect(again.json).toMatchObject({ version: 1 });
    expect(await refusalOf(post('/v1/table/t/describe'))).toMatch(/^4 TableNotFound/);
  });

  it('says so when its answer was too large to be kept', async () => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    const sent = { body: { big: 'x'.repeat(200_000) }, id: 'x' };
    await post('/v1/table/t/schema_metadata/update', sent);
    expect(await refusalOf(post('/v1/table/t/schema_metadata/update', sent))).toBe(
      '13 InvalidInput: the request x was carried out before; its answer of 200019 bytes was too large to be kept',
    );
    expect(await new TableClient(engine).version()).toBe(2);
  });
});

describe('the window', () => {
  it('ends when its time is over, and not before', async () => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    const insert = () => post('/v1/table/t/insert', { body: numbers(2n), id: 'x' });
    await insert();
    now += WINDOW - 1;
    expect((await insert()).json).toMatchObject({ version: 2 });
    now += 1;
    expect((await insert()).json).toMatchObject({ version: 3 });
    expect((await insert()).json).toMatchObject({ version: 3 });
    expect(await keptAnswers()).toBe(1);
  });

  it('ends in peace when an old answer is removed while its request comes again', async () => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    await post('/v1/table/t/insert', { body: numbers(2n), id: 'x' });
    now += WINDOW;
    const { store } = engine;
    const sweep = new AnswerSweep({
      store,
      committer: store,
      windowMillis: WINDOW,
      clock: () => now,
    });
    async function* swept(): AsyncGenerator<Uint8Array> {
      await sweep.step();
      yield numbers(2n);
    }
    const request = requestOf('POST /v1/table/t/insert', { id: 'x' });
    const answer = await engine.backend.handle({ ...request, body: swept() }, new TestPermit());
    expect(answer.headers).toBeUndefined();
    expect(await new TableClient(engine).rows()).toHaveLength(3);
    await sweep.close();
  });

  it('lets go of old answers a page at a time, and of no others', async () => {
    for (let at = 0; at < 150; at++) await post(`/v1/namespace/n${at}/create`, { id: 'x' });
    now += WINDOW;
    for (let at = 0; at < 50; at++) await post(`/v1/namespace/m${at}/create`, { id: 'x' });
    const { store } = engine;
    const sweep = new AnswerSweep({
      store,
      committer: store,
      windowMillis: WINDOW,
      clock: () => now,
    });
    const first = await sweep.step();
    const second = await sweep.step();
    const third = await sweep.step();
    expect([first.ended, second.ended, third.ended]).toStrictEqual([false, false, true]);
    expect(first.removed).toBeLessThanOrEqual(100);
    expect(first.removed + second.removed + third.removed).toBe(150);
    expect(await keptAnswers()).toBe(50);
    expect((await post('/v1/namespace/m7/create', { id: 'x' })).headers).toBeDefined();
    await sweep.close();
  });
});

describe('a change that comes again while the first is at work', () => {
  it('waits for it and is answered like it', async () => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => post('/v1/table/t/insert', { body: numbers(2n), id: 'x' })),
    );
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers === undefined)).toHaveLength(1);
    expect(await new TableClient(engine).rows()).toHaveLength(2);
  });

  it('is made if the first is refused', async () => {
    await post('/v1/table/t/create', { body: numbers(1n) });
    async function* torn(): AsyncGenerator<Uint8Array> {
      yield numbers(2n).subarray(0, 100);
    }
    const request = requestOf('POST /v1/table/t/insert', { id: 'x' });
    const first = engine.backend.handle({ ...request, body: torn() }, new TestPermit());
    const second = post('/v1/table/t/insert', { body: numbers(2n), id: 'x' });
    expect(await refusalOf(first)).toMatch(/^13 /);
    expect((await second).json).toMatchObject({ version: 2, num_inserted_rows: 1 });
  });

  it.each(Object.keys(changes('', '')).filter(isOperationName))(
    'is made once by one of two processes: %s',
    async (name) => {
      const job = await plantAll(engine);
      const other = await openOther(engine, { repeatMillis: WINDOW, clock: () => now });
      const { line, body } = changes(engine.data, job)[name]!;
      const answers = await Promise.all(
        [engine, other, engine, other].map(({ backend }) => ask(backend, line, { body, id: 'x' })),
      );
      expect(new Set(answers.map(({ body: text }) => text)).size).toBe(1);
      expect(answers.filter(({ headers }) => headers === undefined)).toHaveLength(1);
      expect(await keptAnswers()).toBe(1);
      await other.close();
    },
  );

  it('leaves no file of the one that was not needed', async () => {
    const other = await openOther(engine, { repeatMillis: WINDOW, clock: () => now });
    await post('/v1/table/t/create', { body: numbers(1n) });
    const table = new TableClient(engine);
    for (let round = 0; round < 10; round++) {
      const sent = { body: numbers(BigInt(round)), id: `r${round}` };
      await Promise.all([
        post('/v1/table/t/insert', sent),
        post('/v1/table/t/insert', sent, other),
      ]);
    }
    expect(await table.rows()).toHaveLength(11);
    expect((await table.files()).filter((file) => file.startsWith('data/'))).toHaveLength(11);
    expect((await table.files()).filter((file) => file.startsWith('versions/'))).toHaveLength(11);
    await other.close();
  });
});
