import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';
import { ARROW_STREAM, send, sendGranted } from './http.ts';
import { noVector } from './table-bodies.ts';

/* A service that may open 64 files and sockets. */

const DESCRIPTORS = 64;
/** More than the service takes at once. */
const CLIENTS = 40;
const FRAGMENTS = 100;

let service: Service;
let rows: Uint8Array;

beforeAll(async () => {
  service = await Service.start({ descriptors: DESCRIPTORS });
  await sendGranted(service.url, 'POST /v1/table/t/create', {
    body: noVector,
    headers: ARROW_STREAM,
  });
  rows = noVector;
  for (let at = 0; at < FRAGMENTS; at++) {
    await sendGranted(service.url, 'POST /v1/table/t/insert', {
      body: rows,
      headers: ARROW_STREAM,
    });
  }
});

afterAll(() => service?.stop());

const requests: readonly [line: string, body: () => Uint8Array | object][] = [
  ['POST /v1/table/t/query', () => ({ k: 10_000, vector: [], filter: 'id > 0' })],
  ['POST /v1/table/t/count_rows', () => ({ predicate: 'id > 1' })],
  ['POST /v1/table/t/insert', () => rows],
  ['POST /v1/table/t/describe', () => ({})],
  ['POST /v1/table/t/query', () => ({ vector: [], order_by: [{ column_name: 'id' }] })],
];

/** Sends a request until a connection is accepted. Null if it never was. */
async function statusOf(agent: Agent, at: number): Promise<number | null> {
  const [line, body] = requests[at % requests.length]!;
  const sent = body();
  const headers = sent instanceof Uint8Array ? ARROW_STREAM : {};
  for (let attempt = 0; attempt < 2000; attempt++) {
    try {
      return (await send(service.url, line, { body: sent, headers, agent })).status;
    } catch {
      await sleep(20);
    }
  }
  return null;
}

describe('a service with 64 descriptors', () => {
  it('answers more clients than it has room for, each request with a result or 503', async () => {
    const agents = Array.from({ length: CLIENTS }, () => new Agent({ keepAlive: true }));
    try {
      const lists = await Promise.all(
        agents.map(async (agent, client) => {
          const found: (number | null)[] = [];
          for (let at = 0; at < 500 / CLIENTS; at++) found.push(await statusOf(agent, client + at));
          return found;
        }),
      );
      const statuses = lists.flat();
      expect(statuses.length).toBeGreaterThanOrEqual(500);
      expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    } finally {
      for (const agent of agents) agent.destroy();
    }
    await eventually(async () => {
      expect((await send(service.url, 'POST /v1/table/t/count_rows', { body: {} })).status).toBe(
        200,
      );
    });
    expect(service.errors).not.toContain('"status":500');
  });

  it('lets a new client in while idle clients hold all places', async () => {
    const agents = Array.from({ length: CLIENTS }, () => new Agent({ keepAlive: true }));
    try {
      for (const agent of agents) {
        await eventually(async () => {
          expect((await send(service.url, 'GET /healthz', { agent })).status).toBe(200);
        });
      }
      await eventually(async () => {
        expect((await send(service.url, 'GET /readyz', { agent: new Agent() })).status).toBe(200);
      });
    } finally {
      for (const agent of agents) agent.destroy();
    }
  });
});
