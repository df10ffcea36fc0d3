import { readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { arrow, lancedb, tableOf } from '../clients/lancedb.ts';
import { rootWithLibrary } from '../support/other-library.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';

/** A service whose library is not there, and tables whose files are not their own. */

const stopped: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const stop of stopped) await stop();
});

async function started(root?: string): Promise<Service> {
  const service = await Service.start(root === undefined ? {} : { root });
  stopped.push(() => service.stop());
  return service;
}

async function made(service: Service, name: string): Promise<string> {
  const headers = { 'x-api-key': ADMIN_KEY };
  const client = await lancedb.connectNamespace('rest', { uri: service.url, headers });
  const rows = tableOf([{ name: 'id', type: new arrow.Int32(), values: [1, 2, 3] }]);
  await client.createTable(name, rows);
  const { json } = await send(service.url, `POST /v1/table/${name}/describe`, { body: {} });
  return String(json['location']);
}

it('a file that is reached through a link is not read', async () => {
  const service = await started();
  const [own, other] = [await made(service, 'own'), await made(service, 'other')];
  const [mine = '', theirs = ''] = await Promise.all(
    [own, other].map(async (folder) =>
      join(folder, 'data', (await readdir(join(folder, 'data')))[0]!),
    ),
  );
  await rename(mine, `${mine}.aside`);
  await symlink(theirs, mine);
  const body = { vector: [], k: 10 };
  for (const action of ['query', 'count_rows']) {
    const refused = await send(service.url, `POST /v1/table/own/${action}`, { body });
    expect([refused.status, refused.json['code']]).toEqual([406, 0]);
    expect(String(refused.json['error'])).toContain('reaches files through links');
  }
  const granted = await send(service.url, 'POST /v1/table/other/count_rows', { body: {} });
  expect([granted.status, granted.text]).toEqual([200, '3']);
});

it('without the package the rows of a Lance table are refused with a sentence how to install it', async () => {
  const root = await rootWithLibrary();
  stopped.push(() => rm(root, { recursive: true }));
  const service = await started(root);
  await made(service, 't');
  const refused = await send(service.url, 'POST /v1/table/t/count_rows', { body: {} });
  expect([refused.status, refused.json['code'], refused.json['error']]).toEqual([
    406,
    0,
    'table /t is written by Lance clients: install the Lance library beside arrowgate with `npm install @lancedb/lancedb` and restart the gateway, or open it at its location',
  ]);
  await service.end();
  await service.configure('lance: { engine: required }\n');
  await expect(service.restart()).rejects.toThrow('lance.engine is required: install');
});
