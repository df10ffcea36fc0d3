import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service, type Printed } from '../support/service.ts';
import { BranchLedger } from './branch-ledger.ts';
import { CatalogHistory } from './catalog-history.ts';
import { pictureOf } from './catalog-picture.ts';
import { send, type Reply } from './http.ts';
import { InsertLedger } from './insert-ledger.ts';
import { NameLedger } from './name-ledger.ts';
import { randomOf } from './random.ts';
import { goodRows } from './table-bodies.ts';
import { casesOf } from '../support/cases.ts';

const CHANGES = casesOf(30, 50);
const KILLS = casesOf(1, 2);
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

describe.each(kinds)('a catalog on %s', (kind) => {
  it(`is after a rebuild what it was before its store was lost (seed ${seed})`, async () => {
    await start(kind);
    const history = new CatalogHistory(randomOf(seed));
    const rounds = kind === 'Redis' ? casesOf(1, 2) : 2;
    for (let round = 1; round <= rounds; round++) {
      await history.run(service.url, CHANGES);
      const before = await pictureOf(service.url);
      const gone = await dropped();
      await service.end();
      await wipe();
      const dry = round === 1 ? await requireRebuilt('--dry-run') : undefined;
      const done = await requireRebuilt();
      expect(done).toMatchObject({ restored: 'all', lost: [], versionsAhead: 0 });
      expect(dry ?? done).toEqual(done);
      await service.restart();
      expect(await pictureOf(service.url)).toEqual(before);
      expect(await dropped()).toEqual(gone);
    }
    await requireSound();
    expect(history.done).toBeGreaterThan(0);
  });

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
  });

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
  });

  it('may be started without its store, and serves after the rebuild', async () => {
    await start(kind);
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await service.end();
    await wipe();
    await service.restart();
    expect((await list()).status).toBe(503);
    await requireRebuilt();
    await eventually(async () => expect((await list()).json).toMatchObject({ tables: ['t'] }));
  });
});

describe('a Redis that went back', () => {
  const insert = () => send(service.url, 'POST /v1/table/t/insert', { body: goodRows });
  const count = () => send(service.url, 'POST /v1/table/t/count_rows', { body: {} });

  /** Goes back to where it was when a table had one insert of three, as one that takes over too early. */
  async function goBack(): Promise<void> {
    redis = await RedisServer.start(['--appendonly', 'no']);
    service = await Service.start({ flags: flags() });
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await insert();
    await redis.command('SAVE');
    await insert();
    await send(service.url, 'POST /v1/table/t/tags/create', { body: { tag: 'v', version: 3 } });
    await send(service.url, 'POST /v1/namespace/ns/create', { body: {} });
    await insert();
    await redis.kill();
  }

  it('gets what it lost before anything is read from it or built on it', async () => {
    await goBack();
    const before = Number((await readJournalEnd()).at(-1));
    await redis!.restart();
    const counts = new Set<string>();
    await eventually(async () => {
      const { status, text } = await count();
      if (status === 200) counts.add(text);
      expect(status).toBe(200);
    });
    expect([...counts]).toEqual(['12']);
    expect((await insert()).status).toBe(200);
    expect(await readJournalEnd()).toEqual([String(before + 1)]);
    expect((await send(service.url, 'GET /v1/namespace/$/list')).json).toMatchObject({
      namespaces: ['ns'],
    });
    await requireSound();
  });

  it('is refused when the journal lacks some of it, until it is rebuilt', async () => {
    await goBack();
    const path = await journalPath();
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    await writeFile(path, `${lines.toSpliced(-2, 1).join('\n')}\n`);
    await redis!.restart();
    await eventually(async () => {
      const { json } = await send(service.url, 'GET /readyz', {
        headers: { 'x-api-key': ADMIN_KEY },
      });
      expect(JSON.stringify(json)).toMatch(/catalog rebuild restores them/);
    });
    expect([(await count()).status, (await insert()).status]).toEqual([503, 503]);
    const refused = await rebuild();
    expect([refused.code, refused.out, refused.err]).toEqual([
      1,
      '',
      expect.stringMatching(
        /^arrowgate: change \d+ is not in the journal: nothing was changed; --force goes on without\n$/,
      ),
    ]);
    expect(await requireRebuilt('--force')).toMatchObject({ restored: 'lost' });
    await eventually(async () => expect((await count()).text).toBe('12'));
    expect((await insert()).status).toBe(200);
    await requireSound();
  });
});

describe('catalog rebuild', () => {
  it('says what it would restore, and what it restored', async () => {
    await start('the embedded store');
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await service.end();
    await wipe();
    const what =
      /all changes up to 2 of the catalog \S{36}: namespaces 0, tables 1, dropped tables 0, versions 1, tags 0, branches 0\n$/;
    expect(await rebuild('--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringMatching(new RegExp(`^would restore ${what.source}`)),
    });
    expect(await rebuild()).toMatchObject({
      code: 0,
      out: expect.stringMatching(new RegExp(`^restored ${what.source}`)),
      err: '',
    });
  });

  it('refuses what is no catalog, whose store is away, or is of another catalog', async () => {
    redis = await RedisServer.start();
    service = await Service.start({ flags: flags() });
    await service.end();
    const { data } = service;
    const id = await readFile(join(data, 'catalog', 'id'), 'utf8');
    await rename(data, `${data}-first`);
    expect(await rebuild()).toMatchObject({
      code: 2,
      err: `arrowgate: there is no catalog in ${data}: the first start of \`arrowgate serve\` makes one; name its data folder with --data\n`,
    });
    // A catalog of its own, which then names the Redis of the first.
    await service.command('serve', '--host', '192.0.2.1');
    const other = await readFile(join(data, 'catalog', 'id'), 'utf8');
    expect(await rebuild()).toMatchObject({
      code: 1,
      err: `arrowgate: the store belongs to the catalog ${id}, but the folder to ${other}: nothing was changed\n`,
    });
    await redis.kill();
    expect(await rebuild()).toMatchObject({ code: 2, err: 'arrowgate: Redis does not answer\n' });
  });

  it('refuses what it does not know', async () => {
    service = await Service.prepare();
    for (const [word, sentence] of [
      ['--sideways', "error: unknown option '--sideways'\n--help lists what the command takes\n"],
      [
        'x',
        "error: too many arguments for 'rebuild'. Expected 0 arguments but got 1.\n--help lists what the command takes\n",
      ],
    ] as const) {
      expect(await rebuild(word)).toMatchObject({ code: 2, out: '', err: sentence });
    }
  });
});

async function journalPath(): Promise<string> {
  const names = await readdir(join(service.data, 'catalog'));
  const [name = ''] = names.filter((file) => file.startsWith('journal-'));
  return join(service.data, 'catalog', name);
}

/** The number of the last change in the journal. */
async function readJournalEnd(): Promise<readonly string[]> {
  const lines = (await readFile(await journalPath(), 'utf8')).trimEnd().split('\n');
  const last = JSON.parse(lines.at(-1) ?? '{}') as { readonly sequence: string };
  return [last.sequence];
}

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
