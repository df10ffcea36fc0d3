import { basename, dirname } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lancedb } from '../clients/lancedb.ts';
import { Service, type AuditLine } from '../support/service.ts';
import { send } from './http.ts';

/** Versions that LanceDB wrote without the catalog, to the program as its users run it. */

const commits = `rules:
  - { name: small, tables: ["/**"], require: { max_rows: 5 } }
`;

let service: Service;
let location: string;

async function start(): Promise<void> {
  service = await Service.start({ commits });
  const { json } = await send(service.url, 'POST /v1/table/t/declare', { body: {} });
  location = (json as { location: string }).location;
}

async function wrote(...rows: readonly number[]): Promise<void> {
  const db = await lancedb.connect(dirname(location));
  const some = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));
  const table = await db.createTable(basename(location, '.lance'), some(rows[0] ?? 1));
  for (const count of rows.slice(1)) await table.add(some(count));
}

async function versions(): Promise<readonly number[]> {
  const { json } = await send(service.url, 'POST /v1/table/t/version/list', { body: {} });
  return (json as { versions: { version: number }[] }).versions.map(({ version }) => version);
}

const adopt = (...words: readonly string[]) => service.command('catalog', 'adopt', ...words);
const adoptions = async (): Promise<readonly AuditLine[]> =>
  (await service.audit()).filter(({ operation }) => operation === 'CatalogAdopt');

describe('an adoption', () => {
  beforeEach(start);
  afterEach(() => service.stop());

  it('is in the audit log with the request that caused it', async () => {
    await wrote(1, 2);
    const headers = { 'x-request-id': 'who-asked' };
    await send(service.url, 'POST /v1/table/t/describe', { body: {}, headers });
    expect(await versions()).toEqual([1, 2]);
    const [attempt, outcome, ...others] = await adoptions();
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({
      phase: 'attempt',
      subject: 'system:adoption',
      object: '/t',
      context: { branch: 'main', for_operation: 'DescribeTable', for_request: 'who-asked' },
    });
    expect(outcome).toMatchObject({
      phase: 'outcome',
      subject: 'system:adoption',
      decision: 'allow',
      context: { versions: '1, 2' },
    });
  });

  it('leaves what a rule refuses to the operator', async () => {
    await wrote(2, 9);
    expect(await versions()).toEqual([1]);
    const verified = await service.command('catalog', 'verify', '--json');
    expect(verified.code).toBe(1);
    expect(verified.out).toContain('is version 2, which was written without the catalog');
    expect(await adopt('/t', '--accept', '2', '--json')).toMatchObject({
      code: 0,
      out: '{"versions":[2],"next":null}\n',
    });
    expect(await versions()).toEqual([1, 2]);
    expect((await service.command('catalog', 'verify')).code).toBe(0);
    expect((await adoptions()).at(-1)).toMatchObject({
      context: { decision: 'accept', version: '2', versions: '2' },
    });
  });

  it('makes way when the operator sets the versions aside', async () => {
    await wrote(9, 1);
    expect(await versions()).toEqual([]);
    expect(await adopt('/t', '--set-aside', '1')).toMatchObject({
      code: 0,
      out: 'versions 1, 2 are set aside\n',
    });
    expect((await service.command('catalog', 'verify')).code).toBe(0);
    await wrote(3);
    expect(await versions()).toEqual([1]);
  });

  it('is whole after a kill in its middle', async () => {
    await wrote(1, 1, 1, 1, 1);
    const asked = Array.from({ length: 4 }, () =>
      send(service.url, 'POST /v1/table/t/describe', { body: {} }).catch(() => undefined),
    );
    await service.end('SIGKILL');
    await Promise.all(asked);
    await service.restart();
    expect(await versions()).toEqual([1, 2, 3, 4, 5]);
    expect((await service.command('catalog', 'verify')).code).toBe(0);
  });
});

describe('what changes nothing', () => {
  beforeAll(start);
  afterAll(() => service.stop());

  it.each([
    [['/t'], 'give either --accept VERSION or --set-aside VERSION'],
    [
      ['/t', '--accept', '1', '--set-aside', '2'],
      'give either --accept VERSION or --set-aside VERSION',
    ],
    [['/t', '--accept', 'x'], '--accept takes the number of a version, not "x"'],
    [['/none', '--accept', '1'], 'table /none does not exist'],
    [
      ['/t', '--accept', '3'],
      'the table /t has no version 3 that was written without the catalog; it has none',
    ],
  ])('catalog adopt %j is refused', async (words, sentence) => {
    expect(await adopt(...words)).toMatchObject({ code: 2, err: `arrowgate: ${sentence}\n` });
  });

  it.each([
    ['POST /v1/secret/s/create', 'secrets'],
    ['GET /v1/namespace/$/secret/list', 'secrets'],
    ['POST /v1/view/w/create', 'views'],
    ['POST /v1/function/f/describe', 'functions'],
    ['GET /v1/namespace/$/materialized_view/list', 'materialized views'],
    ['POST /v1/jobs/pause', 'pauses of jobs'],
  ])('%s is not supported, and says so', async (line, what) => {
    const headers = { 'user-agent': 'LanceDB-Python-Client/0.40.0' };
    const { status, json } = await send(service.url, line, { headers });
    expect([status, json]).toMatchObject([
      406,
      { code: 0, error: `this service does not support ${what}: it cannot answer ${line}` },
    ]);
  });
});
