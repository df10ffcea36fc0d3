import { join } from 'node:path';
import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import type * as KeyFile from '../../src/gateway/identity/key-file.ts';
import type * as Keys from '../../src/gateway/identity/keys.ts';
import { ADMIN_KEY, Service } from '../../test/support/service.ts';
import { built } from '../harness/built.ts';
import { declareTables } from '../list/declared-tables.ts';
import { sendPlain, Subject } from './subject.ts';

const ONE_ROW = tableToIPC(new Table({ n: vectorFromArray([1n], new Int64()) }), 'stream');
/** Names of new tables are used once. */
let made = 0;

const createTable = (url: string) =>
  sendPlain(url, { route: '/v1/table/t/create', body: ONE_ROW, key: ADMIN_KEY });
const append = () => ({ route: '/v1/table/t/insert', body: ONE_ROW });
const describe = () => ({ route: '/v1/table/t/describe', body: {} });

/** A service with declared tables in one namespace. */
export async function tablesOfSize(size: number): Promise<Subject> {
  const names = Array.from({ length: size }, (_, table) => `t${String(table).padStart(6, '0')}`);
  const service = await Service.start();
  await service.end();
  await declareTables(service.data, 'lake', names);
  await service.restart();
  await createTable(service.url);
  const middle = names[size >> 1] ?? '';
  return new Subject(service, size, ADMIN_KEY, {
    create: () => ({ route: `/v1/table/lake$new${made++}/declare`, body: {} }),
    describe: (time) => ({
      route: `/v1/table/lake$${names[(time * 37) % size] ?? ''}/describe`,
      body: {},
    }),
    'list a page of 50': () => ({
      route: `/v1/namespace/lake/list?limit=50&page_token=${middle}`,
      body: {},
    }),
    append,
  });
}

/** A service with one table of that many versions, all of them kept. */
export async function versionsOfSize(size: number): Promise<Subject> {
  const service = await Service.start({ config: 'versions: { keep_for: null }\n' });
  await createTable(service.url);
  for (let version = 1; version < size; version++) {
    await sendPlain(service.url, { ...append(), key: ADMIN_KEY });
  }
  return new Subject(service, size, ADMIN_KEY, {
    describe,
    'describe an old version': () => ({ ...describe(), body: { version: size >> 1 } }),
    'list a page of 50': () => ({
      route: '/v1/table/t/version/list?limit=50&descending=true',
      body: {},
    }),
    append,
  });
}

/** A service with that many API keys. */
export async function keysOfSize(size: number): Promise<Subject> {
  const service = await Service.start();
  await createTable(service.url);
  const { updateKeys } = await built<typeof KeyFile>('gateway/identity/key-file.js');
  const { makeKey } = await built<typeof Keys>('gateway/identity/keys.js');
  const details = { subject: 'user:admin', roles: ['role:admin'], expires: null };
  const keys = Array.from({ length: size }, () => makeKey(details, new Date()));
  await updateKeys(join(service.data, 'private', 'keys.json'), async (before) => [
    ...before,
    ...keys.map(({ stored }) => stored),
  ]);
  await service.end();
  await service.restart();
  const keyOf = (time: number) => keys[(time * 37) % size]?.text ?? '';
  return new Subject(service, size, ADMIN_KEY, {
    describe: (time) => ({ ...describe(), key: keyOf(time) }),
    append: (time) => ({ ...append(), key: keyOf(time) }),
  });
}
