import { Agent } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Service, ADMIN_KEY } from '../support/service.ts';
import { stopInWrite } from '../support/stopped-writer.ts';
import { send, type Reply } from './http.ts';
import { InsertLedger, range } from './insert-ledger.ts';
import { goodRows } from './table-bodies.ts';

/** A wait that a test can afford. */
const variables = { ARROWGATE_COORDINATION_WAIT: '1500ms' };

let stopped: Service;
let other: Service;
let ledger: InsertLedger;
let writers: Promise<unknown>;
let over: AbortController;

beforeEach(async () => {
  stopped = await Service.start({ variables });
  other = await Service.beside(stopped, { variables });
  ledger = new InsertLedger('t');
  await ledger.create(stopped.url);
  over = new AbortController();
  writers = Promise.all(range(4).map(() => inserting(ledger, over.signal)));
});

afterEach(async () => {
  over.abort();
  await stopped.end('SIGKILL');
  await other.stop();
});

/** Inserts through the gateway that is going to be stopped, until it ends. */
async function inserting(into: InsertLedger, until: AbortSignal): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  try {
    while (!until.aborted) await into.insert(stopped.url, 5);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code)) throw error;
  } finally {
    agent.destroy();
  }
}

function insert(): Promise<Reply> {
  return send(other.url, 'POST /v1/table/u/insert', { body: goodRows });
}

/** The sentence that every refusal has: which process, how long, what to do. */
function sentence(): string {
  return `the process ${stopped.pid} has not let others write to the embedded store for 1.5 s (coordination.wait); continue or end that process, then try again`;
}

async function writersPart(): Promise<unknown> {
  const { status, json } = await send(other.url, 'GET /readyz', { key: ADMIN_KEY });
  const parts = json['parts'] as readonly { readonly part: string }[];
  return [status, json['status'], parts.find(({ part }) => part === 'writers')];
}

async function metric(name: string): Promise<number> {
  const { text } = await send(other.url, 'GET /metrics', { key: ADMIN_KEY });
  return Number(new RegExp(`^arrowgate_${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** Every change was made once, and what is on disk agrees with the log. */
async function isConsistent(): Promise<void> {
  await ledger.check(other.url);
  for (const command of ['catalog', 'audit']) {
    const { code, out, err } = await other.command(command, 'verify');
    expect([code, out, err]).toEqual([0, expect.anything(), expect.anything()]);
  }
}

describe('a gateway that is stopped in a write to the embedded store', () => {
  it('lets the other refuse changes, report why, and read; then both continue', async () => {
    expect((await send(other.url, 'POST /v1/table/u/create', { body: goodRows })).status).toBe(200);
    expect(await writersPart()).toEqual([200, 'ok', { part: 'writers', status: 'ok' }]);
    await stopInWrite(stopped.data, [stopped.pid]);

    const refused = await Promise.all([insert(), insert(), insert()]);
    expect(refused.map(({ status, json }) => [status, json['code'], json['error']])).toEqual(
      refused.map(() => [503, 17, `nothing was written: ${sentence()}`]),
    );
    expect(await writersPart()).toEqual([
      200,
      'degraded',
      { part: 'writers', status: 'degraded', why: sentence() },
    ]);
    expect(await metric('store_write_timeouts_total')).toBeGreaterThanOrEqual(3);
    expect(await metric('store_write_wait_seconds')).toBeGreaterThan(1.5);
    const count = await send(other.url, 'POST /v1/table/u/count_rows', { body: {} });
    expect([count.status, count.text]).toEqual([200, '3']);

    // A third gateway cannot open the store for writing.
    const third = await other.command('serve', '--port', '0');
    // Variables of the tests may be warned of before.
    const said = third.err.trim().split('\n').at(-1);
    expect([third.code, third.out, said]).toEqual([
      2,
      '',
      `arrowgate: nothing was written: ${sentence()}`,
    ]);

    process.kill(stopped.pid, 'SIGCONT');
    await eventually(async () => expect((await insert()).status).toBe(200));
    await eventually(async () =>
      expect(await writersPart()).toEqual([200, 'ok', { part: 'writers', status: 'ok' }]),
    );
    expect(await metric('store_write_wait_seconds')).toBeLessThan(1.5);
    const before = ledger.acknowledged;
    await eventually(() => expect(ledger.acknowledged).toBeGreaterThan(before));
    over.abort();
    await writers;
    const { text } = await send(other.url, 'POST /v1/table/u/count_rows', { body: {} });
    // Of the refused inserts none took effect.
    expect(text).toBe('6');
    expect(await stopped.end()).toBe(0);
    await isConsistent();
  });

  it('leaves the turn to the other when it is killed, and the other stops in time meanwhile', async () => {
    expect((await send(other.url, 'POST /v1/table/u/create', { body: goodRows })).status).toBe(200);
    await stopInWrite(stopped.data, [stopped.pid]);
    expect((await insert()).status).toBe(503);
    expect(await other.end()).toBe(0);
    process.kill(stopped.pid, 'SIGKILL');
    await writers;
    await other.restart();
    expect((await insert()).status).toBe(200);
    await isConsistent();
  });
});
