import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { CatalogHistory } from './catalog-history.ts';
import { pictureOf, type Picture } from './catalog-picture.ts';
import { send } from './http.ts';
import { randomOf } from './random.ts';
import { goodRows } from './table-bodies.ts';
import { casesOf } from '../support/cases.ts';

const CHANGES = casesOf(30, 80);
const seed = Date.now() % 2 ** 31;

let service: Service;
/** Serves the backup. */
let other: Service;
let redis: RedisServer | undefined;

beforeEach(async () => {
  other = await Service.prepare();
});

afterEach(() => other.stop());

function flags(): readonly string[] {
  return redis === undefined ? [] : ['--redis', redis.url];
}

async function backUp(...words: readonly string[]) {
  return service.command('catalog', 'backup', other.data, ...flags(), ...words);
}

/** Where tables of Lance clients lie goes with the folder. */
function moved(picture: Picture): unknown {
  return JSON.parse(JSON.stringify(picture).replaceAll(service.data, other.data));
}

describe.each(['the embedded store', 'Redis'])('the backup of a catalog on %s', (kind) => {
  beforeEach(async () => {
    if (kind === 'Redis') redis = await RedisServer.start();
    service = await Service.start({ flags: flags() });
  });

  afterEach(async () => {
    await service.stop();
    await redis?.stop();
    redis = undefined;
  });

  it(`can be served, and backed up to where the catalog was (seed ${seed})`, async () => {
    const history = new CatalogHistory(randomOf(seed));
    await history.run(service.url, CHANGES);
    await send(service.url, 'POST /v1/table/kept/create', { body: goodRows });
    const before = await pictureOf(service.url);
    const { code, out, err } = await backUp('--json');
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ findings: [], outside: [], copiedBytes: 0 });
    await other.restart();
    expect(await pictureOf(other.url)).toEqual(moved(before));
    expect(await pictureOf(service.url)).toEqual(before);
    // Neither knows what is done to the other.
    await history.run(other.url, 20);
    expect(await pictureOf(service.url)).toEqual(before);
    const [text, keys] = [await pictureOf(other.url), await keysOf(other.data)];
    await service.end();
    await other.end();
    await redis?.command('FLUSHALL');
    await rm(service.data, { recursive: true });
    expect((await other.command('catalog', 'backup', service.data)).code).toBe(0);
    if (redis !== undefined) {
      expect((await service.command('catalog', 'rebuild', ...flags())).code).toBe(0);
    }
    await service.restart();
    expect(moved(await pictureOf(service.url))).toEqual(text);
    expect(await keysOf(service.data)).toBe(keys);
  });

  it('has everything that was acknowledged before, while writers go on', async () => {
    const tables = ['t0', 't1', 't2'];
    for (const table of tables) {
      await send(service.url, `POST /v1/table/${table}/create`, { body: goodRows });
    }
    const counts = new Map(tables.map((table) => [table, 1]));
    const writing = new AbortController();
    const writers = tables.map(async (table) => {
      while (!writing.signal.aborted) {
        const line = `POST /v1/table/${table}/insert`;
        expect((await send(service.url, line, { body: goodRows })).status).toBe(200);
        counts.set(table, counts.get(table)! + 1);
      }
    });
    const atLeast = new Map(counts);
    const { code, err } = await backUp();
    writing.abort();
    await Promise.all(writers);
    expect([code, err]).toEqual([0, '']);
    await other.restart();
    for (const table of tables) {
      const { text } = await send(other.url, `POST /v1/table/${table}/count_rows`, { body: {} });
      expect(Number(text) % 3).toBe(0);
      expect(Number(text) / 3).toBeGreaterThanOrEqual(atLeast.get(table)!);
      expect(Number(text) / 3).toBeLessThanOrEqual(counts.get(table)!);
    }
    expect((await other.command('catalog', 'verify')).code).toBe(0);
  });
});

const HASHING = `restrictions:
  - { name: hashed, tables: ['/**'], subjects: ['role:analyst'], columns: { email: { mask: sha256 } } }
`;

it('has the hashes of masks that the catalog has, and so has what is restored from it', async () => {
  const policy = 'p, role:admin, /**, *, allow\np, role:analyst, /**, read, allow\n';
  service = await Service.prepare();
  const third = await Service.prepare();
  try {
    for (const each of [service, other, third]) {
      await each.writePolicy(policy);
      await writeFile(join(each.policies, 'restrictions.yaml'), HASHING);
    }
    await service.restart();
    const admin = await connect('db://any', { apiKey: ADMIN_KEY, hostOverride: service.url });
    await admin.createTable('people', [{ email: 'ann@x.org' }]);
    const apiKey = await service.key('user:ann', 'role:analyst');
    const hash = async ({ url }: Service): Promise<unknown> => {
      const bound = await connect('db://any', { apiKey, hostOverride: url });
      const [row] = await (await bound.openTable('people')).query().toArray();
      return row?.email;
    };
    const before = await hash(service);
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect((await backUp()).code).toBe(0);
    await other.restart();
    expect(await hash(other)).toBe(before);
    expect((await other.command('catalog', 'backup', third.data)).code).toBe(0);
    await third.restart();
    expect(await hash(third)).toBe(before);
  } finally {
    await third.stop();
    await service.stop();
  }
});

describe('a backup', () => {
  beforeAll(async () => {
    service = await Service.start();
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
  });
  afterAll(() => service.stop());

  it('is refused for a folder that is not empty, and changes nothing there', async () => {
    await mkdir(other.data);
    await writeFile(join(other.data, 'mine'), 'x');
    const { code, out, err } = await backUp();
    expect([code, out, err]).toEqual([
      1,
      '',
      `arrowgate: ${other.data} is not empty: nothing was written\n`,
    ]);
    await expect(stat(join(other.data, 'FORMAT'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is refused inside of the data folder', async () => {
    const inside = join(service.data, 'backup');
    const { code, err } = await service.command('catalog', 'backup', inside);
    expect([code, err]).toEqual([
      1,
      `arrowgate: ${inside} and the data folder ${service.data} overlap: nothing was written\n`,
    ]);
    await expect(stat(inside)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('needs a folder to be named', async () => {
    const { code, err } = await service.command('catalog', 'backup');
    expect([code, err]).toEqual([
      2,
      "error: missing required argument 'dir'\n--help lists what the command takes\n",
    ]);
  });

  it('that was cut off is never served', async () => {
    await mkdir(other.data);
    await writeFile(join(other.data, 'FORMAT'), 'this backup is not whole\n');
    await expect(other.restart()).rejects.toThrow(/FORMAT holds no format version/);
  });
});

async function keysOf(data: string): Promise<string> {
  return readFile(join(data, 'private', 'keys.json'), 'utf8').catch(() => 'none');
}
