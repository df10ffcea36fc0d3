import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { childrenOf, isRunning, signalAll } from '../support/processes.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { open, replyOf, send } from './http.ts';
import { InsertLedger, range } from './insert-ledger.ts';
import { goodRows } from './table-bodies.ts';
import { casesOf } from '../support/cases.ts';

/** Processes of most services. */
const PROCESSES = 2;

let service: Service;

afterEach(() => service?.stop());

async function start(flags: readonly string[] = [], processes = PROCESSES): Promise<void> {
  service = await Service.start({ flags: ['--processes', String(processes), ...flags] });
}

/** How many audit logs there are: each process that serves begins one. */
async function auditLogs(): Promise<number> {
  const names = await readdir(join(service.data, 'private', 'audit'));
  return names.filter((name) => name !== 'policies').length;
}

/** Asks until all processes serve again. */
async function complete(): Promise<void> {
  await expect.poll(async () => (await childrenOf(service.pid)).length).toBe(PROCESSES);
  await expect.poll(async () => (await send(service.url, 'GET /readyz')).status).toBe(200);
}

/** Inserts until it is stopped; a connection that was cut is no failure, its insert is in doubt. */
async function inserting(ledger: InsertLedger, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    try {
      await ledger.insert(service.url, 5);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code)) throw error;
    }
  }
}

/** How many of some requests, sent on as many connections at once, each process has answered. */
async function sharesOf(url: string, table: string): Promise<readonly number[]> {
  const agents = range(30).map(() => new Agent({ keepAlive: true }));
  const line = `POST /v1/table/${table}/describe`;
  await Promise.all(agents.map((agent) => send(url, line, { body: {}, agent })));
  for (const agent of agents) agent.destroy();
  const answered = async () =>
    (await service.audit()).filter(
      ({ operation, phase }) => operation === 'DescribeTable' && phase === 'outcome',
    );
  await expect.poll(async () => (await answered()).length).toBe(30);
  const shares = new Map<unknown, number>();
  for (const { instance } of await answered()) {
    shares.set(instance, (shares.get(instance) ?? 0) + 1);
  }
  return [...shares.values()];
}

describe('several processes behind one port', () => {
  it('serve one catalog and share the connections, each with an audit log of its own, and stop together', async () => {
    await start([], 3);
    const workers = await childrenOf(service.pid);
    expect(workers).toHaveLength(3);
    expect(await auditLogs()).toBe(3);
    const ledger = new InsertLedger('t');
    await ledger.create(service.url);
    await Promise.all(
      range(12).map(async () => {
        for (const rows of range(5)) await ledger.insert(service.url, 1 + rows);
      }),
    );
    expect(ledger.acknowledged).toBe(60);
    await ledger.check(service.url);
    expect((await sharesOf(service.url, 't')).length).toBeGreaterThan(1);
    expect(await service.end()).toBe(0);
    expect(await Promise.all(workers.map(isRunning))).toEqual(workers.map(() => false));
  });

  it('make one administrator key', async () => {
    service = await Service.start({ flags: ['--processes', '2'], adminKey: false });
    const path = join(service.data, 'private', 'initial-admin-key');
    const key = (await readFile(path, 'utf8')).trim();
    const stored = await readFile(join(service.data, 'private', 'keys.json'), 'utf8');
    expect((JSON.parse(stored) as { keys: unknown[] }).keys).toHaveLength(1);
    for (const _ of range(6)) {
      const agent = new Agent();
      expect((await send(service.url, 'GET /v1/table', { key, agent })).status).toBe(200);
    }
  });

  it.each(['embedded', 'redis'])(
    'lose nothing and go on when one is killed under load, with %s',
    async (store) => {
      const redis = store === 'redis' ? await RedisServer.start() : undefined;
      try {
        await start(redis === undefined ? [] : ['--redis', redis.url]);
        const ledgers = range(2).map((at) => new InsertLedger(`t${at}`));
        for (const ledger of ledgers) await ledger.create(service.url);
        const over = new AbortController();
        const writers = [...ledgers, ...ledgers, ...ledgers].map((ledger) =>
          inserting(ledger, over.signal),
        );
        for (const kill of range(casesOf(1, 3))) {
          await sleep(400);
          const workers = await childrenOf(service.pid);
          process.kill(workers[kill % workers.length]!, 'SIGKILL');
          const before = ledgers[0]!.acknowledged;
          await expect.poll(() => ledgers[0]!.acknowledged).not.toBe(before);
          await complete();
        }
        over.abort();
        await Promise.all(writers);
        for (const ledger of ledgers) await ledger.check(service.url);
        expect(await service.end()).toBe(0);
      } finally {
        await redis?.stop();
      }
    },
  );

  it('leave no client waiting that was handed to one that dies', async () => {
    await start();
    const [stopped] = await childrenOf(service.pid);
    process.kill(stopped!, 'SIGSTOP');
    const answered: number[] = [];
    const cut: unknown[] = [];
    const replies = range(8).map(() =>
      send(service.url, 'GET /healthz', { agent: new Agent() }).then(
        ({ status }) => answered.push(status),
        (error: unknown) => cut.push(error),
      ),
    );
    await expect.poll(() => answered.length).toBe(7);
    process.kill(stopped!, 'SIGKILL');
    await Promise.all(replies);
    expect(cut).toHaveLength(1);
  });

  it('keep their port when all are killed at once', async () => {
    await start();
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    signalAll(await childrenOf(service.pid), 'SIGKILL');
    const count = async () => {
      const line = 'POST /v1/table/t/count_rows';
      return send(service.url, line, { body: {}, agent: new Agent() }).then(
        ({ text }) => text,
        () => '',
      );
    };
    await expect.poll(count).toBe('3');
    expect(await service.end()).toBe(0);
  });

  it('end with the one that supervises them', async () => {
    await start();
    const workers = await childrenOf(service.pid);
    expect(workers).toHaveLength(PROCESSES);
    await service.end('SIGKILL');
    await expect
      .poll(async () => (await Promise.all(workers.map(isRunning))).includes(true))
      .toBe(false);
  });

  it('finish what runs before they stop, whoever is signalled beside the supervisor', async () => {
    await start();
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    const halves = gate();
    const body = halves.around(goodRows);
    const answered = open(service.url, 'POST /v1/table/t/insert', { body, agent: new Agent() });
    await halves.begun;
    // Until a process has the request, its connection is one on which nothing runs.
    const taken = async () =>
      (await service.audit()).some(({ operation }) => operation === 'InsertIntoTable');
    await expect.poll(taken).toBe(true);
    // As a terminal and a service manager do, all processes are told.
    for (const worker of await childrenOf(service.pid)) {
      process.kill(worker, 'SIGINT');
      process.kill(worker, 'SIGTERM');
    }
    const ended = service.end('SIGTERM');
    await sleep(500);
    halves.finish();
    expect((await replyOf(await answered)).status).toBe(200);
    expect(await ended, service.errors).toBe(0);
    await service.restart();
    const { text } = await send(service.url, 'POST /v1/table/t/count_rows', {
      body: {},
      agent: new Agent(),
    });
    expect(text).toBe('6');
  });

  it('go on while the system has no room for another, and are complete again when it has', async () => {
    await start();
    const limit = (files: number) =>
      promisify(execFile)('prlimit', [`--pid=${service.pid}`, `--nofile=${files}:`]);
    const [worker] = await childrenOf(service.pid);
    await limit(10);
    process.kill(worker!, 'SIGKILL');
    await expect.poll(() => service.errors).toContain('cannot be started');
    expect(await childrenOf(service.pid)).toHaveLength(1);
    await limit(1024);
    const started = async () => (await childrenOf(service.pid)).length;
    await expect.poll(started).toBe(2);
    expect((await send(service.url, 'GET /healthz', { agent: new Agent() })).status).toBe(200);
    expect(await service.end()).toBe(0);
  });

  it('are not restarted without end', async () => {
    await start();
    // Whoever is started from now on cannot come to serve; those that serve stay as they are.
    await writeFile(join(service.policies, 'policy.csv'), 'nonsense\n');
    const [worker] = await childrenOf(service.pid);
    const ended = service.ended();
    process.kill(worker!, 'SIGKILL');
    expect(await ended).toBe(2);
    expect(service.errors).toMatch(
      /arrowgate: 5 processes in a row ended before they had served for a second, the last with code 2\n$/,
    );
  });
});

describe('a start of several processes that cannot be', () => {
  it('says so once when the port is taken', async () => {
    await start();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const flags = ['--processes', '2', '--port', String(port), '--host', '127.0.0.1'];
    const { code, out, err } = await service.command('serve', ...flags);
    taken.close();
    expect({ code, out, err }).toEqual({
      code: 2,
      out: '',
      err: `arrowgate: port ${port} of 127.0.0.1 is in use by another program\n`,
    });
  });
});

/** A body whose second half is held back. */
function gate() {
  let finish: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  async function* around(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, bytes.length >> 1);
    begin();
    await finished;
    yield bytes.subarray(bytes.length >> 1);
  }
  return { finish: () => finish(), begun, around };
}
