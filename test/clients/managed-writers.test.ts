import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Child } from '../support/child.ts';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';
import { lancedb, valuesOf } from './lancedb.ts';
import { casesOf, triesAll } from '../support/cases.ts';

/**
 * Programs in several processes write the same tables themselves, and commit through
 * the service: what was acknowledged is there once, on both stores.
 */

const WRITER = new URL('./managed-writer.ts', import.meta.url);
const WRITERS = casesOf(2, 3);

/** What a writer says became of a commit. */
interface Told {
  readonly done: boolean;
  readonly id: number;
  readonly rest: string;
}

/** The commits of writers of one kind while the service was killed. */
interface Killed {
  readonly acknowledged: number[];
  readonly unanswered: Set<number>;
}

describe.each(['embedded', 'redis'] as const)('writers on the %s store', (store) => {
  let redis: RedisServer | undefined;
  let service: Service;
  let client: Connection;
  /** What is the same on each store is tried on one of them as a rule: what they do differently, each commit shows. */
  const all = triesAll || store === 'embedded';
  /** How often the service is killed. */
  const kills = store === 'embedded' ? casesOf(2, 3) : casesOf(1, 3);

  beforeAll(async () => {
    if (store === 'redis') redis = await RedisServer.start();
    service = await Service.start({ flags: redis === undefined ? [] : ['--redis', redis.url] });
    client = await connect();
  });

  afterAll(async () => {
    await service.stop();
    await redis?.stop();
  });

  function connect(): Promise<Connection> {
    return lancedb.connectNamespace('rest', {
      uri: service.url,
      headers: { 'x-api-key': ADMIN_KEY },
    });
  }

  /** Starts processes that write at the same time, each rows of its own. */
  function start(
    name: string,
    kind: string,
    count: number,
    first = 1,
    writers = WRITERS,
  ): readonly Child[] {
    return Array.from({ length: writers }, (_, index) => {
      const from = (first + index) * 1000;
      const args = [service.url, ADMIN_KEY, name, kind, String(from), String(count)];
      return new Child(WRITER, args);
    });
  }

  async function write(name: string, kind: string, count: number): Promise<readonly Told[]> {
    const children = start(name, kind, count);
    await Promise.all(children.map((child) => child.end()));
    return children.flatMap(({ lines }) => lines.map(told));
  }

  async function idsOf(table: Table): Promise<readonly unknown[]> {
    return (await valuesOf(table.query(), 'id')).toSorted((a, b) => Number(a) - Number(b));
  }

  async function versionsOf(name: string, query = ''): Promise<readonly number[]> {
    const reply = await send(service, `/v1/table/${name}/version/list?limit=1000${query}`);
    return (reply.body as { versions: { version: number }[] }).versions.map((one) => one.version);
  }

  async function locationOf(name: string): Promise<string> {
    const { body } = await send(service, `/v1/table/${name}/describe`);
    return (body as { location: string }).location;
  }

  const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

  it('append, and delete what they appended', async () => {
    await client.createTable('rows', [{ id: 0 }]);
    const added = await write('rows', 'append', 8);
    expect(added.filter(({ done }) => !done)).toEqual([]);
    const table = await client.openTable('rows');
    const ids = added.map(({ id }) => id).toSorted((a, b) => a - b);
    expect(await idsOf(table)).toEqual([0, ...ids]);
    expect(await versionsOf('rows')).toEqual(upTo(1 + ids.length));
    const removed = await write('rows', 'remove', 4);
    expect(removed.filter(({ done }) => !done)).toEqual([]);
    await table.checkoutLatest();
    const gone = new Set(removed.map(({ id }) => id));
    expect(await idsOf(table)).toEqual([0, ...ids.filter((id) => !gone.has(id))]);
    expect(await table.version()).toBe(1 + ids.length + removed.length);
    expect((await send(service, '/v1/table/rows/stats')).body).toMatchObject({
      num_rows: await table.countRows(),
    });
    await table.checkout(1);
    expect(await idsOf(table)).toEqual([0]);
  });

  it.runIf(all)('overwrite each other whole', async () => {
    await client.createTable('whole', [{ id: 0 }]);
    const done = await write('whole', 'overwrite', 4);
    expect(done.filter((one) => !one.done)).toEqual([]);
    expect(await versionsOf('whole')).toEqual(upTo(1 + done.length));
    const table = await client.openTable('whole');
    const [id, again, ...others] = await idsOf(table);
    expect([again, others]).toEqual([id, []]);
    expect(done.map((one) => one.id)).toContain(id);
  });

  // Who finds a table that was declared and written meanwhile may overwrite it: so the client does.
  it.runIf(all)('make tables of the same names: each that was made is a version', async () => {
    const tries = await write('made', 'create', 3);
    for (const number of [0, 1, 2]) {
      const won = tries.filter(({ done, id }) => done && id % 1000 === number);
      const table = await client.openTable(`made${number}`);
      expect(await versionsOf(`made${number}`)).toEqual(upTo(won.length));
      const found: unknown[] = [];
      for (const version of upTo(won.length)) {
        await table.checkout(version);
        found.push(...(await idsOf(table)));
      }
      expect(new Set(found)).toEqual(new Set(won.map(({ id }) => id)));
      expect(won.length).toBeGreaterThan(0);
    }
  });

  it.runIf(all)('append to a branch, which main does not see', async () => {
    const main = await client.createTable('branched', [{ id: 1 }]);
    await main.add([{ id: 2 }]);
    await (await main.branches()).create('dev');
    const added = await write('branched', 'branch', 3);
    expect(added.filter(({ done }) => !done)).toEqual([]);
    const dev = await (await main.branches()).checkout('dev');
    expect(await dev.countRows()).toBe(2 + added.length);
    expect(await versionsOf('branched', '&branch=dev')).toEqual(upTo(2 + added.length).slice(1));
    expect(await (await connect()).openTable('branched').then(idsOf)).toEqual([1, 2]);
    const listed = await send(service, '/v1/table/branched/branches/list');
    expect(listed.body).toMatchObject({ branches: { dev: { parentVersion: 2 } } });
    await (await main.branches()).delete('dev');
    await (await main.branches()).create('dev');
    const again = await (await main.branches()).checkout('dev');
    expect(await again.countRows()).toBe(2);
  });

  it.runIf(all)('find versions by tags of their own and of the catalog', async () => {
    const table = await client.createTable('tagged', [{ id: 1 }]);
    await table.add([{ id: 2 }]);
    await (await table.tags()).create('own', 1);
    await table.checkout('own');
    expect(await table.countRows()).toBe(1);
    const body = { tag: 'ours', version: 2 };
    expect((await send(service, '/v1/table/tagged/tags/create', { body })).status).toBe(200);
    const described = await send(service, '/v1/table/tagged/describe', { body: { tag: 'ours' } });
    expect(described.body).toMatchObject({ version: 2 });
  });

  it.runIf(all)('leave nothing in the way of others when they stage and die', async () => {
    const table = await client.createTable('staged', [{ id: 1 }]);
    const folder = join(await locationOf('staged'), '_versions');
    const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.manifest'));
    const next = (BigInt(name.split('.')[0]!) - 1n).toString();
    const left = join(folder, `${next}.manifest-5e0e5a52-2d3c-4f5b-8f0c-0123456789ab`);
    await writeFile(left, 'cut off');
    const past = new Date(Date.now() - 2 * 86_400_000);
    await utimes(left, past, past);
    await table.add([{ id: 2 }]);
    const opened = await (await connect()).openTable('staged');
    expect(await idsOf(opened)).toEqual([1, 2]);
    expect(await versionsOf('staged')).toEqual([1, 2]);
  });

  it('lose nothing that was acknowledged when the service is killed', async () => {
    await client.createTable('killed', [{ id: 0 }]);
    await client.createTable('whole-killed', [{ id: 0 }, { id: 0 }]);
    const kept = upTo(kills).flatMap((round) => upTo(60).map((at) => round * 1000 + at - 1));
    await client.createTable(
      'fewer',
      kept.map((id) => ({ id })),
    );
    const appended: Killed = { acknowledged: [], unanswered: new Set() };
    const removed: Killed = { acknowledged: [], unanswered: new Set() };
    const overwritten: Killed = { acknowledged: [], unanswered: new Set() };
    for (let round = 1; round <= kills; round++) {
      const appending = start('killed', 'append', 60, round * WRITERS, 2);
      const removing = start('fewer', 'remove', 60, round, 1);
      const overwriting = start('whole-killed', 'overwrite', 60, round, 1);
      const children = [...appending, ...removing, ...overwriting];
      try {
        await Promise.all(children.map((child) => child.printed(2)));
        await sleep(Math.random() * 60);
        await service.end('SIGKILL');
      } finally {
        // The client would continue trying for minutes.
        await Promise.all(children.map((child) => child.kill()));
      }
      account(appended, appending, round * WRITERS);
      account(removed, removing, round);
      account(overwritten, overwriting, round);
      await service.restart();
      client = await connect();
    }
    expect(appended.acknowledged.length).toBeGreaterThanOrEqual(kills * 2 * 2);
    await expectAppended(appended);
    await expectRemoved(removed, kept);
    await expectOverwritten(overwritten);
  });

  it('leave nothing that is not as the catalog says', async () => {
    const flags = redis === undefined ? [] : ['--redis', redis.url];
    const { code, out } = await service.command('catalog', 'verify', ...flags);
    expect(out).toContain('nothing is wrong');
    expect(code).toBe(0);
  });

  async function expectAppended({ acknowledged, unanswered }: Killed): Promise<void> {
    const table = await client.openTable('killed');
    const ids = (await idsOf(table)).slice(1);
    expect(ids).toHaveLength(new Set(ids).size);
    expect(ids.filter((id) => !unanswered.has(Number(id)))).toEqual(
      acknowledged.toSorted((a, b) => a - b),
    );
    const versions = await versionsOf('killed');
    expect(versions).toEqual(upTo(1 + ids.length));
    await table.add([{ id: 9 }]);
    expect(await table.version()).toBe(versions.length + 1);
    const folder = join(await locationOf('killed'), '_versions');
    const finals = (await readdir(folder)).filter((name) => name.endsWith('.manifest'));
    expect(finals).toHaveLength(versions.length + 1);
  }

  async function expectRemoved({ acknowledged, unanswered }: Killed, before: readonly number[]) {
    const left = new Set(await idsOf(await client.openTable('fewer')));
    expect(acknowledged.filter((id) => left.has(id))).toEqual([]);
    const untouched = before.filter((id) => !acknowledged.includes(id) && !unanswered.has(id));
    expect(untouched.filter((id) => !left.has(id))).toEqual([]);
    const versions = await versionsOf('fewer');
    expect(versions).toEqual(upTo(1 + before.length - left.size));
  }

  /** Each version is what one of them wrote, whole; what was acknowledged is one version. */
  async function expectOverwritten({ acknowledged, unanswered }: Killed): Promise<void> {
    const table = await client.openTable('whole-killed');
    const versions = await versionsOf('whole-killed');
    expect(versions).toEqual(upTo(versions.length));
    const made: number[] = [];
    for (const version of versions.slice(1)) {
      await table.checkout(version);
      const [id, again, ...others] = await idsOf(table);
      expect([again, others]).toEqual([id, []]);
      made.push(Number(id));
    }
    expect(made).toHaveLength(new Set(made).size);
    expect(made.filter((id) => !unanswered.has(id))).toEqual(acknowledged);
  }
});

/** Adds what became of the commits of writers that were killed. */
function account(killed: Killed, children: readonly Child[], first: number): void {
  for (const [index, { lines }] of children.entries()) {
    const done = lines.map(told).filter((one) => one.done);
    killed.acknowledged.push(...done.map(({ id }) => id));
    killed.unanswered.add((first + index) * 1000 + done.length);
  }
}

function told(line: string): Told {
  const [, how, id, rest = ''] = /^(done|failed) (\d+) ?(.*)$/.exec(line) ?? [];
  return { done: how === 'done', id: Number(id), rest };
}
