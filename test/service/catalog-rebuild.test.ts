import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.ts';
import { Service, type Printed } from '../support/service.ts';
import { BranchLedger } from './branch-ledger.ts';
import { CatalogHistory } from './catalog-history.ts';
import { pictureOf } from './catalog-picture.ts';
import { send, type Reply } from './http.ts';
import { InsertLedger } from './insert-ledger.ts';
import { NameLedger } from './name-ledger.ts';
import { randomOf } from './random.ts';
import { goodRows } from './table-bodies.ts';

const CHANGES = 160;
const KILLS = 4;
const seed = Date.now() % 2 ** 31;

let service: Service;
let redis: RedisServer | undefined;

afterEach(async () => {
  await service.stop();
  await redis?.stop();
  redis = undefined;
});

type Kind = 'the embedded store' | 'Redis';
const kinds: readonly Kind[] = ['the embedded store', 'Redis'];

async function start(kind: Kind): Promise<void> {
  if (kind === 'Redis') redis = await RedisServer.start();
  service = await Service.start({ flags: flags() });
}

function flags(): readonly string[] {
  return redis === undefined ? [] : ['--redis', redis.url];
}

/** Takes everything away that the store has. */
async function wipe(): Promise<void> {
  if (redis !== undefined) await redis.command('FLUSHALL');
  else await rm(join(service.data, 'private', 'store'), { recursive: true });
}

function rebuild(...words: readonly string[]): Promise<Printed> {
  return service.command('catalog', 'rebuild', ...flags(), ...words);
}

async function requireRebuilt(...words: readonly string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await rebuild('--json', ...words);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Record<string, unknown>;
}

async function dropped(): Promise<string> {
  const { code, out } = await service.command('catalog', 'dropped', ...flags(), '--json');
  expect(code).toBe(0);
  return out;
}

async function requireSound(): Promise<void> {
  expect(await service.command('catalog', 'verify', ...flags())).toMatchObject({ code: 0 });
}

function list(): Promise<Reply> {
  return send(service.url, 'GET /v1/namespace/$/table/list');
}

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await check();
    } catch (error) {
      if (attempt === 400) throw error;
      await sleep(50);
    }
  }
}

describe.each(kinds)('a catalog on %s', (kind) => {
  it(`is after a rebuild what it was before its store was lost (seed ${seed})`, async () => {
    await start(kind);
    const history = new CatalogHistory(randomOf(seed));
    for (let round = 0; round < 2; round++) {
      await history.run(service.url, CHANGES);
      const before = await pictureOf(service.url);
      const gone = await dropped();
      await service.end();
      await wipe();
      const dry = await requireRebuilt('--dry-run');
      const done = await requireRebuilt();
      expect(done).toMatchObject({ restored: 'all', lost: [], versionsAhead: 0 });
      expect(dry).toEqual(done);
      await service.restart();
      expect(await pictureOf(service.url)).toEqual(before);
      expect(await dropped()).toEqual(gone);
      await requireSound();
    }
    expect(history.done).toBeGreaterThan(CHANGES / 4);
  }, 240_000);

  it(`lost nothing that it acknowledged when it was killed and its store lost (seed ${seed})`, async () => {
    await start(kind);
    const inserts = [new InsertLedger('t0'), new InsertLedger('t1')];
    const branches = new BranchLedger('b');
    const names = [new NameLedger('n-'), new NameLedger('m-')];
    for (const ledger of [...inserts, branches]) await ledger.create(service.url);
    const random = randomOf(seed);
    for (let kill = 0; kill < KILLS; kill++) {
      const { url } = service;
      const writers = [
        ...inserts.map((ledger) => () => ledger.insert(url, 1 + random(50))),
        ...[branches, ...names].map((ledger) => () => ledger.live(url)),
      ].map(untilCut);
      await sleep(200 + random(600));
      await service.end('SIGKILL');
      await Promise.all(writers);
      await wipe();
      expect(await requireRebuilt()).toMatchObject({ restored: 'all', lost: [] });
      await service.restart();
      for (const ledger of [...inserts, branches, ...names]) await ledger.check(service.url);
      await requireSound();
    }
  }, 240_000);

  it('answers 503 while its store is lost, and serves after the rebuild without a restart', async () => {
    await start(kind);
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await wipe();
    expect((await list()).json).toMatchObject({ code: 17 });
    const insert = () => send(service.url, 'POST /v1/table/t/insert', { body: goodRows });
    expect((await insert()).status).toBe(503);
    expect((await send(service.url, 'GET /readyz')).status).toBe(503);
    expect(await requireRebuilt()).toMatchObject({ restored: 'all', tables: 1 });
    await eventually(async () => expect((await list()).json).toMatchObject({ tables: ['t'] }));
    expect((await insert()).status).toBe(200);
    expect((await send(service.url, 'POST /v1/table/t/count_rows', { body: {} })).text).toBe('6');
    expect((await send(service.url, 'GET /readyz')).status).toBe(200);
    const again = await rebuild();
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/^nothing to restore: the store has every change .* up to \d+\n$/),
    ]);
    await requireSound();
  }, 60_000);

  it('may be started without its store, and serves after the rebuild', async () => {
    await start(kind);
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await service.end();
    await wipe();
    await service.restart();
    expect((await list()).status).toBe(503);
    await requireRebuilt();
    await eventually(async () => expect((await list()).json).toMatchObject({ tables: ['t'] }));
  }, 60_000);
});

/** Works again and again until the connection is lost. */
async function untilCut(work: () => Promise<void>): Promise<void> {
  try {
    for (;;) await work();
  } catch (error) {
    const cut = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'];
    if (!(error instanceof Error && 'code' in error && cut.includes(String(error.code)))) {
      throw error;
    }
  }
}
