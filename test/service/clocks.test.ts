import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

/** Node's clock of the day, 20 minutes behind. */
const BEHIND = `--import=data:text/javascript,${encodeURIComponent(
  'const now = Date.now; Date.now = () => now() - 1_200_000;',
)}`;

let redis: RedisServer;
let behind: Service;
let right: Service;

beforeEach(async () => {
  redis = await RedisServer.start();
  const flags = ['--redis', redis.url];
  behind = await Service.start({ flags, nodeFlags: [BEHIND] });
  right = await Service.beside(behind, { flags });
});

afterEach(async () => {
  await right.stop();
  await behind.stop();
  await redis.stop();
});

function insert(service: Service, id: string): Promise<Reply> {
  const body = tableToIPC(new Table({ n: vectorFromArray([1n], new Int64()) }), 'stream');
  return send(service.url, 'POST /v1/table/t/insert', { body, headers: { 'x-request-id': id } });
}

async function times(): Promise<readonly number[]> {
  const { json } = await send(right.url, 'POST /v1/table/t/version/list', { body: {} });
  const versions = json['versions'] as readonly { timestamp_millis: number; version: number }[];
  return versions
    .toSorted((one, other) => one.version - other.version)
    .map((version) => version.timestamp_millis);
}

describe('a gateway whose clock is 20 minutes behind that of Redis', () => {
  it('makes a repeated change once, stamps versions in order, and reports the difference', async () => {
    const body = tableToIPC(new Table({ n: vectorFromArray([], new Int64()) }), 'stream');
    await send(right.url, 'POST /v1/table/t/create', { body });
    const first = await insert(behind, 'same');
    const second = await insert(right, 'same');
    expect([first.status, second.status]).toStrictEqual([200, 200]);
    expect(second.headers['x-arrowgate-replayed']).toBe('true');
    await insert(right, 'next');
    await insert(behind, 'last');
    const { text } = await send(right.url, 'POST /v1/table/t/count_rows', { body: {} });
    expect(text).toBe('3');
    const found = await times();
    expect(found).toHaveLength(4);
    expect(found).toStrictEqual(found.toSorted((one, other) => one - other));

    const sentence = /^the clock of this machine is 1[12]\d\d\.\d s behind the clock of the store/;
    const ready = await send(behind.url, 'GET /readyz', { key: ADMIN_KEY });
    expect(ready.status).toBe(200);
    expect(ready.json).toMatchObject({
      status: 'degraded',
      parts: expect.arrayContaining([
        { part: 'clock', status: 'degraded', why: expect.stringMatching(sentence) },
      ]),
    });
    const stranger = await send(behind.url, 'GET /readyz', { key: null });
    expect(stranger.json).toStrictEqual({ status: 'degraded' });
    const metrics = await send(behind.url, 'GET /metrics', { key: ADMIN_KEY });
    expect(metrics.text).toMatch(/^arrowgate_clock_skew_seconds 1[12]\d\d(\.\d+)?$/m);
    const fine = await send(right.url, 'GET /readyz', { key: ADMIN_KEY });
    expect(fine.json).toMatchObject({
      parts: expect.arrayContaining([{ part: 'clock', status: 'ok' }]),
    });
  });
});
