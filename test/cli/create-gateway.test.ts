import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import fastify from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGateway, type EmbeddedGateway } from '../../src/cli/create-gateway.ts';
import { ConfigError } from '../../src/cli/config/config-source.ts';
import { goodRows } from '../service/table-bodies.ts';

const KEY = 'an-administrator-key-for-tests';
const shipped = new URL('../../policies', import.meta.url).pathname;

let folder: string;
let gateway: EmbeddedGateway;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-embedded-'));
  await cp(shipped, join(folder, 'policies'), { recursive: true });
  gateway = await createGateway({
    config: { data: join(folder, 'data'), policies: join(folder, 'policies'), workers: 0 },
    adminKey: KEY,
    log: pino({ level: 'silent' }),
  });
});

afterEach(async () => {
  await gateway.close();
  await rm(folder, { recursive: true });
});

/** Serves with a server of the test's while something is done. */
async function serving(server: Server, work: (url: string) => Promise<void>): Promise<void> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const headers = { 'x-api-key': KEY };

/** Creates a table, counts its rows, and asks without a key. */
async function useTable(url: string): Promise<void> {
  const created = await fetch(`${url}/v1/table/t/create`, {
    method: 'POST',
    headers,
    body: goodRows,
  });
  expect(created.status).toBe(200);
  const counted = await fetch(`${url}/v1/table/t/count_rows`, {
    method: 'POST',
    headers,
    body: '{}',
  });
  expect([counted.status, await counted.text()]).toEqual([200, '3']);
  const refused = await fetch(`${url}/v1/table/t/count_rows`, { method: 'POST', body: '{}' });
  expect([refused.status, refused.headers.get('x-arrowgate-decision')]).toEqual([
    401,
    'unauthenticated',
  ]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
}

describe('createGateway', () => {
  it('gives a request listener', async () => {
    await serving(createServer(gateway.listener), async (url) => {
      await useTable(url);
      expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
    });
  });

  it('gives middleware for Express, which keeps the rest of its paths', async () => {
    const app = express();
    app.use(gateway.middleware);
    app.use(express.json());
    app.post('/own', (request, response) => void response.send(request.body));
    await serving(createServer(app), async (url) => {
      await useTable(url);
      const own = await fetch(`${url}/own`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"a":1}',
      });
      expect(await own.json()).toEqual({ a: 1 });
      expect((await fetch(`${url}/nowhere`)).status).toBe(404);
    });
  });

  it('is served below a path of Express', async () => {
    const app = express();
    app.use('/catalog', gateway.middleware);
    await serving(createServer(app), async (url) => {
      await useTable(`${url}/catalog`);
      expect((await fetch(`${url}/healthz`)).status).toBe(404);
    });
  });

  it('says so when a parser has read the body before', async () => {
    const app = express();
    app.use(express.json());
    app.use(gateway.middleware);
    const told: string[] = [];
    const fail: express.ErrorRequestHandler = (error, _request, response, _next) => {
      told.push(String(error));
      response.status(500).end();
    };
    app.use(fail);
    await serving(createServer(app), async (url) => {
      const json = { ...headers, 'content-type': 'application/json' };
      const reply = await fetch(`${url}/v1/table/t/count_rows`, {
        method: 'POST',
        headers: json,
        body: '{}',
      });
      expect(reply.status).toBe(500);
      expect(told).toEqual([
        'Error: the body was read before the gateway got it: put it before what parses bodies',
      ]);
    });
  });

  it('gives a plugin for Fastify, which keeps the rest of its paths', async () => {
    const app = fastify();
    await app.register(gateway.fastify);
    app.post('/own', (request) => request.body);
    await app.listen({ host: '127.0.0.1', port: 0 });
    try {
      const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
      await useTable(url);
      const own = await fetch(`${url}/own`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"a":1}',
      });
      expect(await own.json()).toEqual({ a: 1 });
      expect((await fetch(`${url}/nowhere`)).status).toBe(404);
    } finally {
      await app.close();
    }
  });

  it('refuses what comes once it is closed, and may be closed twice', async () => {
    await gateway.close();
    await gateway.close();
    await serving(createServer(gateway.listener), async (url) => {
      const reply = await fetch(`${url}/v1/table/t/describe`, { method: 'POST', headers });
      expect([reply.status, await reply.json()]).toMatchObject([503, { code: 17 }]);
    });
  });

  it.each<[object, string]>([
    [{ cache: { byte: 1 } }, 'the configuration:2: cache.byte is not a key of the configuration'],
    [
      { cache: { bytes: 'many' } },
      'the configuration:2: cache.bytes is "many", but must be a size such as 64MiB',
    ],
  ])('refuses the configuration %j', async (config, sentence) => {
    const refused = await createGateway({ config }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    expect(String(refused)).toContain(sentence);
  });
});
