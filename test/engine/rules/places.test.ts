import { Int64, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf } from '../../support/engine-table.ts';
import { ask, type Sent } from '../../support/request.ts';
import { Rulebook } from '../../support/ruled-engine.ts';

/** Tables that go, move and get names, tags and branches, in batches too. */

const rules = new Rulebook();
let table: EngineTable;

const ids = (...values: readonly number[]) =>
  streamOf({ id: vectorFromArray(values.map(BigInt), new Int64()) });

const send = (line: string, sent: Sent = {}) => ask(table.engine.backend, `POST /v1/${line}`, sent);
const refused = (line: string, body: object = {}) => refusalOf(send(line, { body }));

beforeAll(async () => {
  table = await EngineTable.open({ rules });
  for (const name of ['kept', 'free']) await send(`namespace/${name}/create`, { body: {} });
  await send('table/kept$t/create', { body: ids(1, 2) });
  await send('table/free$t/create', { body: ids(-1, -1) });
});

afterAll(() => table.close());

beforeEach(() => rules.clear());

/** Rules on the tables of one namespace. */
const onKept = (require: string, more = '') =>
  rules.set(
    `rules:\n  - { name: keep, tables: ["/kept/**"], require: { ${require} }${more && `, ${more}`} }\n`,
  );
const says = (path: string, fault: string) =>
  `20 the commit rule keep refuses this of ${path}: ${fault}`;

describe('a table that may not be dropped', () => {
  it('does not go with its namespace, and nothing beside it does', async () => {
    onKept('no_drop: true');
    const cascade = { behavior: 'Cascade' };
    const fault = says('/kept/t', 'the table may not be dropped');
    expect(await refused('namespace/kept/drop', cascade)).toBe(fault);
    expect((await send('table/kept$t/describe')).status).toBe(200);
  });

  it('is renamed only where the rule still covers it', async () => {
    onKept('no_drop: true');
    const away = { new_table_name: 'gone', new_namespace_id: ['free'] };
    expect(await refused('table/kept$t/rename', away)).toBe(
      says('/kept/t', 'the table may not be renamed to /free/gone, which the rule does not cover'),
    );
    await send('table/kept$t/rename', { body: { new_table_name: 'u' } });
    await send('table/kept$u/rename', { body: { new_table_name: 't' } });
  });

  it('is refused as part of a batch, of which then nothing is done', async () => {
    onKept('no_drop: true');
    const operations = [
      { declare_table: { id: ['free', 'new'] } },
      { deregister_table: { id: ['kept', 't'] } },
    ];
    expect(await refused('table/batch-commit', { operations })).toBe(
      says('/kept/t', 'the table may not be deregistered'),
    );
    expect(await refused('table/free$new/describe')).toMatch(/^4 /);
  });

  it('is still missing where there is none', async () => {
    onKept('no_drop: true');
    expect(await refused('table/kept$none/drop')).toMatch(/^4 /);
  });
});

describe('a table that is renamed to where rules are', () => {
  it.each([
    ['check: "id > 0"', 'the check "id > 0" is not true of a row with id = -1'],
    ['unique: [id]', 'several rows would have id = -1, and no two may'],
    ['columns: [{ name: key, type: int64 }]', 'the table would have no column "key"'],
    ['max_rows: 1', 'it adds 2 rows, and at most 1 may be added'],
  ])('is judged as if it were made there, by %s', async (require, fault) => {
    onKept(require);
    const to = { new_table_name: 'in', new_namespace_id: ['kept'] };
    expect(await refused('table/free$t/rename', to)).toBe(says('/kept/in', fault));
    expect((await send('table/free$t/describe')).status).toBe(200);
  });

  it('must lie where the rule wants it', async () => {
    onKept('locations: [/srv/lake]');
    const to = { new_table_name: 'in', new_namespace_id: ['kept'] };
    expect(await refused('table/free$t/rename', to)).toMatch(
      /^20 the commit rule keep refuses this of \/kept\/in: the table lies in \/.*, where no table may lie$/,
    );
    expect(await refused('table/kept$new/declare')).toMatch(/where no table may lie$/);
    onKept(`locations: ["file://${table.engine.data}"]`);
    expect((await send('table/kept$new/declare')).status).toBe(200);
    await send('table/kept$new/drop');
  });
});

describe('tags and branches', () => {
  it('that are protected are not moved, deleted or restored, and others are', async () => {
    await send('table/kept$t/tags/create', { body: { tag: 'gold', version: 1 } });
    await send('table/kept$t/tags/create', { body: { tag: 'tin', version: 1 } });
    await send('table/kept$t/branches/create', { body: { name: 'dev' } });
    await send('table/kept$t/branches/create', { body: { name: 'tmp' } });
    onKept('protected_tags: [gold], protected_branches: [dev]');
    const gold = says('/kept/t', 'the tag "gold" is protected');
    const dev = says('/kept/t', 'the branch "dev" is protected');
    expect(await refused('table/kept$t/tags/update', { tag: 'gold', version: 1 })).toBe(gold);
    expect(await refused('table/kept$t/tags/delete', { tag: 'gold' })).toBe(gold);
    expect(await refused('table/kept$t/branches/delete', { name: 'dev' })).toBe(dev);
    expect(await refused('table/kept$t/restore?branch=dev', { version: 1 })).toBe(dev);
    await send('table/kept$t/tags/update', { body: { tag: 'tin', version: 1 } });
    await send('table/kept$t/tags/delete', { body: { tag: 'tin' } });
    await send('table/kept$t/branches/delete', { body: { name: 'tmp' } });
    await send('table/kept$t/restore', { body: { version: 1 } });
  });
});

describe('a rule', () => {
  it('that warns lets in what breaks it, and says so in the record of the commit', async () => {
    onKept('max_rows: 1', 'mode: warn');
    const { commit } = await send('table/kept$t/insert', { body: ids(5, 6) });
    expect(commit?.rules).toEqual(['keep (warned)']);
    const fine = await send('table/kept$t/insert', { body: ids(7) });
    expect(fine.commit?.rules).toEqual(['keep']);
  });

  it('does not bind whom it excepts, by a role of a role too', async () => {
    const text =
      'rules:\n  - { name: keep, tables: ["/**"], except: ["role:boss"], require: { max_rows: 0 } }\n';
    rules.set(text);
    expect(await refusalOf(send('table/kept$t/insert', { body: ids(8) }))).toMatch(/^20 /);
    rules.set(text, [
      { line: 1, member: 'user:tester', role: 'role:lead' },
      { line: 2, member: 'role:lead', role: 'role:boss' },
    ]);
    expect((await send('table/kept$t/insert', { body: ids(8) })).commit?.rules).toEqual([]);
  });

  it('is about the operations that it names, and an overwrite is no append', async () => {
    onKept('max_rows: 0', 'operations: [modify]');
    await send('table/kept$t/insert', { body: ids(9) });
    const overwrite = send('table/kept$t/insert?mode=overwrite', { body: ids(9) });
    expect(await refusalOf(overwrite)).toBe(
      says('/kept/t', 'it adds 1 row, and at most 0 may be added'),
    );
  });

  it('holds for rows that others added meanwhile', async () => {
    onKept('unique: [id]');
    const all = await Promise.allSettled(
      Array.from({ length: 6 }, () => send('table/kept$t/insert', { body: ids(100) })),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});
