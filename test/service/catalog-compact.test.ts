import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { readdir, rename, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lancedb } from '../clients/lancedb.ts';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

let service: Service;

const rows = tableToIPC(new Table({ n: vectorFromArray([1n, 2n], new Int64()) }), 'stream');

beforeAll(async () => {
  service = await Service.start();
  for (const action of ['create', 'insert', 'insert']) {
    await send(service.url, `POST /v1/table/t/${action}`, { body: rows });
  }
});

afterAll(() => service.stop());

const compact = (...words: readonly string[]) => service.command('catalog', 'compact', ...words);

it('compacts the tables of a catalog whose gateway runs, which goes on with what was made', async () => {
  expect(await compact('--json')).toMatchObject({
    code: 0,
    out: '[{"table":"/t","merged":3,"made":1}]\n',
  });
  const stats = await send(service.url, 'POST /v1/table/t/stats');
  expect(stats.json).toMatchObject({ num_rows: 6, fragment_stats: { num_fragments: 1 } });
  const count = await send(service.url, 'POST /v1/table/t/count_rows', { body: {} });
  expect(count.text).toBe('6');
  expect(await compact('/t')).toMatchObject({ code: 0, out: 'nothing to merge\n' });
});

it.each([
  ['/none', 'arrowgate: table /none does not exist'],
  ['t', 'arrowgate: "t" is no canonical path: write /t'],
])('says why it does not compact %s', async (path, sentence) => {
  expect(await compact(path)).toMatchObject({ code: 2, err: `${sentence}\n` });
});

it('passes over the tables that refuse, each by its name and with the reason', async () => {
  const config = 'tables: { formats: [{ tables: [/l/**], format: lance }] }\n';
  const lake = await Service.start({ config });
  await send(lake.url, 'POST /v1/namespace/l/create', { body: {} });
  for (const name of ['l$damaged', 'l$linked', 'l$sound', 't']) {
    for (const action of ['create', 'insert', 'insert'])
      await send(lake.url, `POST /v1/table/${name}/${action}`, { body: rows });
  }
  const location = async (name: string): Promise<string> => {
    const { json } = await send(lake.url, `POST /v1/table/l$${name}/describe`);
    return join(String((json as { readonly location: unknown }).location), 'data');
  };
  const damaged = await location('damaged');
  for (const name of await readdir(damaged)) await truncate(join(damaged, name), 40);
  const linked = await location('linked');
  await rename(linked, `${linked}-elsewhere`);
  await symlink(`${linked}-elsewhere`, linked);
  const { code, out, err } = await lake.command('catalog', 'compact', '--json');
  expect(code).toBe(1);
  expect(err.trim().split('\n')).toEqual([
    expect.stringMatching(/^arrowgate: \/l\/damaged is passed over: .*\/l\/damaged/),
    'arrowgate: /l/linked is passed over: version 3 of table /l/linked names files in the folder of another table, or reaches files through links: open it at its location',
  ]);
  expect(JSON.parse(out)).toEqual([
    { table: '/l/sound', merged: 3, made: 1 },
    { table: '/t', merged: 3, made: 1 },
    { table: '/l/damaged', merged: 0, made: 0, reason: expect.any(String) },
    { table: '/l/linked', merged: 0, made: 0, reason: expect.any(String) },
  ]);
  await rename(`${linked}-elsewhere`, `${linked}-gone`);
  const again = await lake.command('catalog', 'compact');
  expect(again).toMatchObject({ code: 1, out: 'nothing was merged\n' });
  const { context } = (await lake.audit()).findLast(
    ({ operation }) => operation === 'CatalogCompact',
  ) as { readonly context: unknown };
  expect(context).toEqual({ tables: '0', failures: '2' });
  await lake.stop();
});

it('passes over a shallow clone, and removes no file that it names', async () => {
  const config = 'tables: { format: lance }\n';
  const lake = await Service.start({ config });
  for (const action of ['create', 'insert', 'insert'])
    await send(lake.url, `POST /v1/table/source/${action}`, { body: rows });
  const { json } = await send(lake.url, 'POST /v1/table/source/describe');
  const location = String((json as { readonly location: unknown }).location);
  const local = await lancedb.connect(join(location, '..'));
  const folder = join(location, '..', 'copy.lance');
  await local.cloneTable('copy', location, { isShallow: true });
  const registered = await send(lake.url, 'POST /v1/table/copy/register', {
    body: { location: folder },
  });
  expect(registered.status, registered.text).toBe(200);
  const { code, out, err } = await lake.command('catalog', 'compact', '--json');
  expect([code, err]).toEqual([
    1,
    'arrowgate: /copy is passed over: version 3 of table /copy names files in the folder of another table, or reaches files through links: open it at its location\n',
  ]);
  expect(JSON.parse(out)).toMatchObject([
    { table: '/source', merged: 3, made: 1 },
    { table: '/copy', merged: 0, made: 0 },
  ]);
  await lake.end();
  expect((await lake.command('catalog', 'gc', '--older-than', '0s')).code).toBe(0);
  const copy = await local.openTable('copy');
  expect((await copy.query().toArray()).map((row) => Number(row['n']))).toEqual([1, 2, 1, 2, 1, 2]);
  expect((await lake.command('catalog', 'verify')).code).toBe(0);
  await lake.stop();
});

it('merges in the background from the configured number on, with a record of its own', async () => {
  const busy = await Service.start({ config: 'compaction: { fragments: 8 }\n' });
  await send(busy.url, 'POST /v1/table/t/create', { body: rows });
  for (let at = 0; at < 7; at++) await send(busy.url, 'POST /v1/table/t/insert', { body: rows });
  const shared = { operation: 'CatalogCompact', subject: 'system:compaction', object: '/t' };
  const context = { branch: 'main', files_before: '8', files_after: '1' };
  await eventually(async () => {
    const records = await busy.audit();
    expect(records.filter(({ operation }) => operation === 'CatalogCompact')).toMatchObject([
      { ...shared, phase: 'attempt', context },
      { ...shared, phase: 'outcome', decision: 'allow', context: { ...context, version: '9' } },
    ]);
  });
  const stats = await send(busy.url, 'POST /v1/table/t/stats');
  expect(stats.json).toMatchObject({ num_rows: 16, fragment_stats: { num_fragments: 1 } });
  await busy.stop();
});
