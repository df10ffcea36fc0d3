import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
