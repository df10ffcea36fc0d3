import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tableKey } from '../../../../src/engine/catalog/records/keys.ts';
import { decodeTable, encodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { judging } from '../../../../src/engine/rules/commit-judge.ts';
import { expiryJudge } from '../../../../src/engine/rules/expiry-judge.ts';
import type { CollectOptions } from '../../../../src/engine/upkeep/retention/collector.ts';
import type { ExpiryOptions } from '../../../../src/engine/upkeep/retention/expiry.ts';
import { collect } from '../../../support/dropped.ts';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { openOther } from '../../../support/engine.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManagedTable } from '../../../support/managed-table.ts';
import { ask } from '../../../support/request.ts';
import { Rulebook } from '../../../support/ruled-engine.ts';

const DAY = 86_400_000;

let table: EngineTable;
let now: number;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const policy = (keepForMillis: number | null, keepLast: number | null) => ({
  policy: { keepForMillis, keepLast },
});

beforeEach(async () => {
  now = Date.now();
  table = await EngineTable.open({ clock: () => now });
});

afterEach(async () => table.close());

/** Creates the table and appends to it, a version a day. */
async function makeVersions(count: number, headers: Record<string, string> = {}): Promise<void> {
  await table.send('create', { body: streamOf(rows(1n)), headers });
  for (let version = 2; version <= count; version++) {
    now += DAY;
    await table.send('insert', { body: streamOf(rows(BigInt(version))) });
  }
}

/** The same for a table from before there was a policy. */
async function makeOlder(count: number, properties: Record<string, string> = {}): Promise<void> {
  await makeVersions(count);
  const key = tableKey(['t']);
  const { expires, ...old } = decodeTable((await table.engine.store.get(key))!);
  expect(expires).toBe(true);
  const value = encodeTable({ ...old, properties });
  await table.engine.store.commit([], [{ key, value }]);
}

async function versions(body: object = {}): Promise<readonly number[]> {
  const { versions: all } = (await table.post('version/list', body)) as unknown as {
    versions: readonly { version: number }[];
  };
  return all.map(({ version }) => version).toSorted((left, right) => left - right);
}

const expire = (expiry: CollectOptions['expiry'], more: Partial<CollectOptions> = {}) =>
  collect(table.engine, { ...(expiry && { expiry }), ...more });

describe('versions expire', () => {
  it.each<readonly [string, number | null, number | null, readonly number[]]>([
    ['when neither key keeps them', 3 * DAY, 2, [7, 8, 9, 10]],
    ['unless they are among the last', 3 * DAY, 6, [5, 6, 7, 8, 9, 10]],
    ['but the newest', 0, 1, [10]],
    ['not while keep_for is null', null, 1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    ['not while keep_last is null', 0, null, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    ['not when all are young', 30 * DAY, 1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    ['not when there are few', 0, 10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ])('%s', async (_, keepFor, keepLast, left) => {
    await makeVersions(10);
    const dry = await expire(policy(keepFor, keepLast), { dryRun: true });
    expect(await versions()).toHaveLength(10);
    const done = await expire(policy(keepFor, keepLast));
    expect(done).toMatchObject({ versions: 10 - left.length, failures: [], waiting: 0 });
    expect(dry.versions).toBe(done.versions);
    expect(await versions()).toEqual(left);
    expect(await table.column('n')).toHaveLength(10);
    expect((await table.engine.upkeep!.verifier.verify()).findings).toEqual([]);
    expect((await expire(policy(keepFor, keepLast))).versions).toBe(0);
  });

  it('and answer like versions that never were, and their files go', async () => {
    await makeVersions(2);
    await table.post('delete', { predicate: 'n = 1' });
    await table.send('insert?mode=overwrite', { body: streamOf(rows(5n)) });
    const before = await table.files();
    now += DAY;
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 3 });
    const never = await refusalOf(table.post('describe', { version: 99 }));
    for (const action of ['describe', 'query', 'count_rows', 'restore']) {
      const body = action === 'query' ? { vector: [], version: 1 } : { version: 1 };
      const refusal = await refusalOf(table.send(action, { body }));
      expect(refusal).toBe(never.replace('99', '1'));
    }
    // One manifest, one data file.
    expect(before).toHaveLength(7);
    expect(await table.files()).toHaveLength(2);
  });

  it('but not those that a tag names or a branch begins with, on each line by itself', async () => {
    await makeVersions(6);
    await table.post('tags/create', { tag: 'gold', version: 2 });
    await table.post('branches/create', { name: 'dev', from_version: 4 });
    for (let at = 0; at < 3; at++) {
      now += DAY;
      await table.send('insert?branch=dev', { body: streamOf(rows(70n)) });
    }
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 5, failures: [] });
    expect(await versions()).toEqual([2, 4, 6]);
    expect(await versions({ branch: 'dev' })).toEqual([2, 4, 7]);
    expect(await table.column('n', { version: 2 })).toEqual([1n, 2n]);
    expect(await table.column('n', { branch: 'dev' })).toHaveLength(7);
    // Of the versions that are left the last count, whatever their numbers.
    expect(await expire(policy(0, 2))).toMatchObject({ versions: 0 });
    await table.post('tags/delete', { tag: 'gold' });
    expect(await expire(policy(0, 2))).toMatchObject({ versions: 1 });
    expect(await versions()).toEqual([4, 6]);
  });

  it('by the properties of the table, then of the nearest namespace', async () => {
    const create = (path: string, properties: object) =>
      ask(table.engine.backend, `POST /v1/namespace/${path}/create`, { body: { properties } });
    await create('a', { 'versions.keep_for': '0s', 'versions.keep_last': '2' });
    await create('a$b', { 'versions.keep_last': '3' });
    const counts: Record<string, number> = {};
    for (const id of ['a$t', 'a$b$t', 'a$b$u']) {
      const own = id === 'a$b$u' ? { 'versions.keep_for': 'null' } : {};
      const headers = { 'x-service-table-properties': JSON.stringify(own) };
      const route = `POST /v1/table/${id}`;
      const body = streamOf(rows(1n));
      await ask(table.engine.backend, `${route}/create`, { body, headers });
      for (let at = 0; at < 4; at++) await ask(table.engine.backend, `${route}/insert`, { body });
    }
    now += 1;
    await expire(policy(30 * DAY, 1));
    for (const id of ['a$t', 'a$b$t', 'a$b$u']) {
      const { json } = await ask(table.engine.backend, `POST /v1/table/${id}/version/list`);
      counts[id] = (json as unknown as { versions: readonly unknown[] }).versions.length;
    }
    expect(counts).toEqual({ a$t: 2, a$b$t: 3, a$b$u: 5 });
  });

  it('of tables from before there was a policy once they are told to follow it', async () => {
    await makeOlder(4);
    const told = { ...policy(0, 1), olderTables: true };
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 0 });
    expect(await expire(told, { dryRun: true })).toMatchObject({ versions: 3 });
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 0 });
    expect(await expire(told)).toMatchObject({ versions: 3, failures: [] });
    await table.send('insert', { body: streamOf(rows(5n)) });
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 1 });
    expect(await versions()).toEqual([5]);
    expect((await table.engine.upkeep!.verifier.verify()).findings).toEqual([]);
  });

  it('of tables that are told to follow the policy, unless a property keeps them', async () => {
    await makeOlder(4, { 'versions.keep_last': 'null' });
    const told = { ...policy(0, 1), olderTables: true };
    expect(await expire(told)).toMatchObject({ versions: 0, failures: [] });
    expect(await versions()).toHaveLength(4);
  });

  it('of tables from before there was a policy only by a property', async () => {
    await makeOlder(4);
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 0 });
    const updates = [['n', 'n']];
    const properties = { 'versions.keep_last': '2' };
    await table.post('update', { updates, predicate: 'false', properties });
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 3 });
    expect(await versions()).toEqual([4, 5]);
  });

  it('of tables of Lance clients only by a property, and their data stays', async () => {
    const { engine } = table;
    const body = { properties: { 'versions.keep_for': '0s', 'versions.keep_last': '2' } };
    await ask(engine.backend, 'POST /v1/namespace/a/create', { body });
    const plain = await ManagedTable.open(engine);
    const brief = await plain.further('a$t');
    for (const lance of [plain, brief]) {
      for (let version = 1n; version <= 4n; version++) await lance.commit(version);
    }
    expect(await expire(policy(0, 1))).toMatchObject({ versions: 2, failures: [] });
    expect(await plain.versions()).toEqual([1, 2, 3, 4]);
    expect(await brief.versions()).toEqual([3, 4]);
  });

  it('after they are enough where they are gathered', async () => {
    await makeVersions(30);
    const gathering = { ...policy(0, 25), gathers: true };
    expect(await expire(gathering)).toMatchObject({ versions: 5 });
    await table.send('insert', { body: streamOf(rows(31n)) });
    expect(await expire(gathering)).toMatchObject({ versions: 0 });
    expect(await expire(policy(0, 25))).toMatchObject({ versions: 1 });
  });
});

describe('properties of a policy', () => {
  it.each([
    ['versions.keep_for', 'a week', 'a duration such as 7d, or null'],
    ['versions.keep_for', '', 'a duration such as 7d, or null'],
    ['versions.keep_for', '99999999999d', 'a duration such as 7d, or null'],
    ['versions.keep_last', '0', 'a whole number from 1 to 1000000, or null'],
    ['versions.keep_last', '1.5', 'a whole number from 1 to 1000000, or null'],
    ['versions.keep_last', '1000001', 'a whole number from 1 to 1000000, or null'],
  ])('%s is not %j', async (name, value, form) => {
    const sentence = `13 the property ${name} is ${JSON.stringify(value)}, but must be ${form}`;
    const properties = { [name]: value };
    const headers = { 'x-service-table-properties': JSON.stringify(properties) };
    const body = streamOf(rows(1n));
    expect(await refusalOf(table.send('create', { body, headers }))).toBe(sentence);
    expect(await refusalOf(table.post('declare', { properties }))).toBe(sentence);
    const namespace = ask(table.engine.backend, 'POST /v1/namespace/a/create', {
      body: { properties },
    });
    expect(await refusalOf(namespace)).toBe(sentence);
    await table.send('create', { body });
    const updates = [['n', 'n']];
    await table.refuses('update', { updates, properties }, 13, sentence.slice(3));
  });
});

describe('a removal', () => {
  it('is made once, however many collect at the same time, beside writers', async () => {
    await makeVersions(8);
    const other = await openOther(table.engine, { clock: () => now });
    const elsewhere = { ...table.engine, ...other };
    const writing = Promise.all(
      [9n, 10n, 11n].map((value) => table.send('insert', { body: streamOf(rows(value)) })),
    );
    await Promise.all([
      expire(policy(0, 4)),
      expire(policy(0, 4)),
      collect(elsewhere, { expiry: policy(0, 4) }),
      table.post('tags/create', { tag: 'late', version: 8 }),
    ]);
    await writing;
    await other.close();
    await eventually(async () => {
      await expire(policy(0, 2));
      expect(await versions()).toEqual([8, 10, 11]);
    });
    expect(await table.column('n', { tag: 'late' })).toHaveLength(8);
    expect(await table.column('n')).toHaveLength(11);
    expect((await table.engine.upkeep!.verifier.verify()).findings).toEqual([]);
  });

  it('is judged by the commit rules, as it is when it is requested', async () => {
    await makeVersions(4);
    const rules = new Rulebook();
    const judge = expiryJudge(judging(rules.source, rules.secret, () => now));
    rules.demand('keep_versions: true', 'operations: [BatchDeleteTableVersions]');
    const forbidden = { versions: 0, forbidden: 1, failures: [] };
    expect(await expire({ ...policy(0, 1), judge }, { dryRun: true })).toMatchObject(forbidden);
    expect(await expire({ ...policy(0, 1), judge })).toMatchObject(forbidden);
    expect(await versions()).toEqual([1, 2, 3, 4]);
    rules.demand('keep_versions: true', 'mode: warn');
    expect(await expire({ ...policy(0, 1), judge })).toMatchObject({ versions: 3, forbidden: 0 });
  });

  it('is recorded once for each line that loses versions, and not made without its record', async () => {
    await makeVersions(4);
    const lines: unknown[] = [];
    const record: ExpiryOptions['record'] = async (line, work) => {
      lines.push({ ...line, versions: await work() });
    };
    const full: ExpiryOptions['record'] = async () => {
      throw new Error('the log is full');
    };
    expect(await expire({ ...policy(DAY, 1), record: full })).toMatchObject({
      versions: 0,
      failures: ['/t is passed over: the log is full'],
    });
    expect(await versions()).toHaveLength(4);
    await expire({ ...policy(DAY, 1), record });
    await expire({ ...policy(DAY, 1), record });
    const { path, branch } = { path: ['t'], branch: 'main' };
    expect(lines).toEqual([{ path, branch, keepForMillis: DAY, keepLast: 1, versions: [1n, 2n] }]);
  });
});
