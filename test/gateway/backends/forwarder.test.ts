import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RemoteOptions } from '../../../src/gateway/backends/backend-options.ts';
import { ExchangeFault } from '../../../src/gateway/backends/remote-error.ts';
import type { Forwarded } from '../../../src/gateway/backends/forwarded-request.ts';
import { Forwarder } from '../../../src/gateway/backends/forwarder.ts';
import { headersBack } from '../../../src/gateway/backends/remote-headers.ts';
import { acts, LARGE } from '../../support/backend-acts.ts';
import { eventually } from '../../support/eventually.ts';

const stays = () => () => undefined;
const WHOLE = 1024;
const quiet: RemoteOptions['timeouts'] = { connect: 60_000, idle: 60_000, total: 0 };

const sockets = new Set<Socket>();
let server: Server;

beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      const request = text;
      text = '';
      const path = / (\S+) /.exec(request)?.[1] ?? '';
      const raw = rawAnswers[decodeURIComponent(path.slice(1))];
      if (raw === undefined) acts[path]?.(socket, request);
      else socket.end(raw, 'latin1');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(async () => {
  server.close();
  for (const socket of sockets) socket.destroy();
  await once(server, 'close');
});

function optionsOf(more: Partial<RemoteOptions> = {}): RemoteOptions {
  return {
    name: 'far',
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    namespaces: [],
    prefix: [],
    credential: undefined,
    dialect: 'both',
    page: 1000,
    trust: new Set(),
    timeouts: quiet,
    bodies: { json: WHOLE, arrow: null },
    connections: 4,
    breaker: { failures: 5, open: 1_000 },
    ...more,
  };
}

function requestOf(path: string, more: Partial<Forwarded> = {}): Forwarded {
  return { method: 'GET', path, headers: { 'x-request-id': 'r1' }, body: null, ...more };
}

/** The kind of fault that an exchange ends with, or the status of its answer. */
async function outcomeOf(forwarder: Forwarder, path: string): Promise<string | number> {
  try {
    const response = await forwarder.send(requestOf(path), stays);
    await response.whole(WHOLE);
    return response.status;
  } catch (error) {
    if (error instanceof ExchangeFault) return error.kind;
    throw error;
  }
}

const OK = 'HTTP/1.1 200 OK\r\n';

/** Answers that two parsers could read in two ways, or that are no HTTP. */
const rawAnswers: Readonly<Record<string, string>> = {
  'a head without its end': `${OK}content-length: 0\r\n`,
  'another protocol': 'HTTP/2 200 OK\r\ncontent-length: 0\r\n\r\n',
  'a status of four digits': 'HTTP/1.1 2000 x\r\ncontent-length: 0\r\n\r\n',
  'two equal lengths': `${OK}content-length: 5\r\ncontent-length: 5\r\n\r\nhello`,
  'a list of lengths': `${OK}content-length: 5, 5\r\n\r\nhello`,
  'a signed length': `${OK}content-length: +5\r\n\r\nhello`,
  'a length in hexadecimal': `${OK}content-length: 0x5\r\n\r\nhello`,
  'a length beyond numbers': `${OK}content-length: 99999999999999999999\r\n\r\n`,
  'a length and chunks': `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a space before a colon': `${OK}content-length : 0\r\n\r\n`,
  'a name with a space': `${OK}x a: 1\r\ncontent-length: 0\r\n\r\n`,
  'a line without a name': `${OK}: 1\r\ncontent-length: 0\r\n\r\n`,
  'a line without a colon': `${OK}x-a\r\ncontent-length: 0\r\n\r\n`,
  'a folded line': `${OK}x-a: 1\r\n  2\r\ncontent-length: 0\r\n\r\n`,
  'a lone line feed': `${OK}x-a: 1\nx-b: 2\r\ncontent-length: 0\r\n\r\n`,
  'a lone carriage return': `${OK}x-a: 1\rx-b: 2\r\ncontent-length: 0\r\n\r\n`,
  'a zero byte': `${OK}x-a: 1\0\r\ncontent-length: 0\r\n\r\n`,
  'a body shorter than its length': `${OK}content-length: 9\r\n\r\nhello`,
  'a chunk that is cut': `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhel`,
  'chunks without their end': `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`,
  'a longer chunk': `${OK}transfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`,
  'a head beyond the limit': `${OK}x-a: ${'a'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`,
};

const outcomes: Readonly<Record<string, string | number>> = {
  '/echo': 200,
  '/dies': 'broken',
  '/no-http': 'broken',
  '/switches': 'broken',
  '/silent': 'silent',
  '/half': 'broken',
  '/hangs': 'silent',
  '/two-lengths': 'broken',
};

describe.each([
  { way: 'by itself', proxiesAll: false },
  { way: 'through http-proxy', proxiesAll: true },
])('a request that is sent $way', ({ proxiesAll }) => {
  it.each(Object.entries(outcomes))('ends where %s with %s', async (path, outcome) => {
    const timeouts = outcome === 'silent' ? { ...quiet, idle: 100 } : quiet;
    const forwarder = new Forwarder(optionsOf({ timeouts }), proxiesAll);
    expect(await outcomeOf(forwarder, path)).toBe(outcome);
    forwarder.close();
  });

  it.each(Object.entries(rawAnswers))('that is answered with %s breaks off', async (name) => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    expect(await outcomeOf(forwarder, `/${encodeURIComponent(name)}`)).toBe('broken');
    forwarder.close();
  });

  it('gets the values of a repeated field and bytes beyond ASCII unchanged', async () => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    const response = await forwarder.send(requestOf('/latin'), stays);
    expect(headersBack(response.headers)).toEqual({ etag: '"caf\xe9"', 'x-lance-a': '1, 2' });
    await response.whole(WHOLE);
    forwarder.close();
  });

  it('has its method, path, headers and body, and the host of the backend', async () => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    const body = Buffer.from([0, 255, 13, 10, 128]);
    const headers = { 'content-length': '5', 'x-service-ctx-team': 'west' };
    const sent = requestOf('/echo', { method: 'POST', headers, body });
    const response = await forwarder.send(sent, stays);
    const said = Buffer.from(String(await response.whole(WHOLE)), 'base64').toString('latin1');
    const [head = '', rest] = said.split('\r\n\r\n');
    const [first, ...lines] = head.split('\r\n');
    expect(first).toBe('POST /echo HTTP/1.1');
    expect(lines.map((line) => line.toLowerCase()).toSorted()).toEqual([
      'connection: keep-alive',
      'content-length: 5',
      `host: ${optionsOf().url.host}`,
      'x-service-ctx-team: west',
    ]);
    expect(rest).toBe(body.toString('latin1'));
    forwarder.close();
  });

  it('uses a connection again, and says when that turned out to be closed', async () => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    const before = sockets.size;
    expect(await outcomeOf(forwarder, '/echo')).toBe(200);
    expect(await outcomeOf(forwarder, '/echo')).toBe(200);
    expect(sockets.size).toBe(before + 1);
    expect(await outcomeOf(forwarder, '/dies')).toBe('stale');
    forwarder.close();
  });

  it.each([
    ['/chunked', 'again'],
    ['/chunk-by-chunk', 'again'],
    ['/announced', 'again'],
    ['/byte-by-byte', 'again'],
    ['/late', 'again'],
    ['/repeats', 'again'],
    ['/large', 'again'],
    ['/closes', 'not again'],
    ['/closes-soon', 'not again'],
    ['/until-its-end', 'not again'],
  ])('has all of the answer of %s, whose connection is used %s', async (path, use) => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    const before = sockets.size;
    const response = await forwarder.send(requestOf(path), stays);
    const text = String(await response.whole(LARGE.length));
    expect(text).toBe(path === '/large' ? LARGE : 'helloworld');
    await turn();
    expect(await outcomeOf(forwarder, '/echo')).toBe(200);
    expect(sockets.size).toBe(before + (use === 'again' ? 1 : 2));
    forwarder.close();
  });

  it('is streamed to who takes it piece by piece, no faster than it is taken', async () => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    const response = await forwarder.send(requestOf('/large'), stays);
    let text = '';
    for await (const piece of response.stream()) {
      text += String(piece);
      await turn();
    }
    expect(text).toBe(LARGE);
    forwarder.close();
  });

  it('leaves its connection to who waits for it', async () => {
    const forwarder = new Forwarder(optionsOf({ connections: 1 }), proxiesAll);
    const before = sockets.size;
    const paths = ['/chunk-by-chunk', '/echo', '/large', '/late', '/chunked', '/repeats'];
    const asked = paths.map((path) => forwarder.send(requestOf(path), stays));
    for (const each of asked)
      expect((await (await each).whole(LARGE.length))!.byteLength).toBeGreaterThan(0);
    expect(sockets.size).toBe(before + 1);
    forwarder.close();
  });

  it('ends its connection when nobody reads its answer to the end', async () => {
    const forwarder = new Forwarder(optionsOf({ connections: 1 }), proxiesAll);
    const response = await forwarder.send(requestOf('/chunk-by-chunk'), stays);
    for await (const piece of response.stream()) {
      expect(piece.byteLength).toBeGreaterThan(0);
      break;
    }
    expect(await outcomeOf(forwarder, '/echo')).toBe(200);
    forwarder.close();
  });

  it('is given up when its client goes away', async () => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    let leave = (): void => undefined;
    const sending = forwarder.send(requestOf('/silent'), (listener) => {
      leave = listener;
      return () => undefined;
    });
    setTimeout(() => leave(), 20);
    await expect(sending).rejects.toMatchObject({ kind: 'client' });
    forwarder.close();
  });

  it('is not answered for a client that has gone already', async () => {
    const forwarder = new Forwarder(optionsOf(), proxiesAll);
    const sending = forwarder.send(requestOf('/silent'), (listener) => {
      queueMicrotask(listener);
      return () => undefined;
    });
    await expect(sending).rejects.toMatchObject({ kind: 'client' });
    forwarder.close();
  });

  it('waits no longer for a free connection than for a new one', async () => {
    const timeouts = { connect: 50, idle: 60_000, total: 0 };
    const forwarder = new Forwarder(optionsOf({ timeouts, connections: 1 }), proxiesAll);
    let leave = (): void => undefined;
    const first = forwarder.send(requestOf('/silent'), (listener) => {
      leave = listener;
      return () => undefined;
    });
    const second = forwarder.send(requestOf('/echo'), stays);
    await expect(second).rejects.toMatchObject({ kind: 'busy' });
    leave();
    await expect(first).rejects.toMatchObject({ kind: 'client' });
    forwarder.close();
  });

  it('finds nobody where nobody listens', async () => {
    const url = new URL('http://127.0.0.1:1');
    const forwarder = new Forwarder(optionsOf({ url }), proxiesAll);
    expect(await outcomeOf(forwarder, '/echo')).toBe('unreached');
    forwarder.close();
  });

  it('takes no longer in all than it may', async () => {
    const timeouts = { connect: 60_000, idle: 60_000, total: 50 };
    const forwarder = new Forwarder(optionsOf({ timeouts }), proxiesAll);
    expect(await outcomeOf(forwarder, '/silent')).toBe('silent');
    forwarder.close();
  });
});

describe('A backend that sends 100 Continue unasked', () => {
  it('is answered through http-proxy from the second request on', async () => {
    const forwarder = new Forwarder(optionsOf());
    expect(await outcomeOf(forwarder, '/continues')).toBe('broken');
    expect(await outcomeOf(forwarder, '/continues')).toBe(204);
    forwarder.close();
  });

  it('gets a read again whose answer began so', async () => {
    const forwarder = new Forwarder(optionsOf());
    expect(await outcomeOf(forwarder, '/echo')).toBe(200);
    expect(await outcomeOf(forwarder, '/continues')).toBe('stale');
    expect(await outcomeOf(forwarder, '/continues')).toBe(204);
    forwarder.close();
  });
});

describe('Requests of both kinds', () => {
  it('share the connections that a backend may have', async () => {
    const forwarder = new Forwarder(optionsOf({ connections: 2 }));
    const headers = { 'transfer-encoding': 'chunked' };
    const before = new Set(sockets);
    const open = (): number =>
      [...sockets].filter((each) => !before.has(each) && !each.destroyed).length;
    async function* piece(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
    }
    for (let round = 0; round < 3; round++) {
      const sent = ['whole', 'whole', 'streamed', 'streamed'].map(async (kind) => {
        const more = kind === 'whole' ? {} : { headers, body: piece() };
        const response = await forwarder.send(
          requestOf('/late', { method: 'POST', ...more }),
          stays,
        );
        expect(String(await response.whole(WHOLE))).toBe('helloworld');
      });
      await Promise.all(sent);
      await eventually(async () => expect(open()).toBeLessThanOrEqual(2));
    }
    forwarder.close();
  });
});

describe('A connection on which something comes that nobody asked for', () => {
  it('is ended, so that it answers no other request', async () => {
    const forwarder = new Forwarder(optionsOf({ connections: 1 }));
    expect(await outcomeOf(forwarder, '/unasked')).toBe(200);
    const socket = [...sockets].at(-1)!;
    await eventually(async () => expect(socket.destroyed).toBe(true));
    const response = await forwarder.send(requestOf('/late'), stays);
    expect(String(await response.whole(WHOLE))).toBe('helloworld');
    forwarder.close();
  });
});

describe('A header that cannot be sent', () => {
  it.each(['a\r\nx-b: c', 'a\nb', 'a\0b', '\u0100'])(
    'is refused, and holds no connection: %j',
    async (value) => {
      const forwarder = new Forwarder(optionsOf({ connections: 1 }));
      const bad = requestOf('/echo', { headers: { 'x-a': value } });
      await expect(async () => forwarder.send(bad, stays)).rejects.toThrow(TypeError);
      const streamed = { ...bad, method: 'POST', body: nothing() };
      await expect(forwarder.send(streamed, stays)).rejects.toThrow(TypeError);
      expect(await outcomeOf(forwarder, '/echo')).toBe(200);
      forwarder.close();
    },
  );
});

describe('A target that cannot be sent', () => {
  it.each(['/a b', '/a\r\nx-b: c', '/a\0b', '/\u0100'])(
    'is refused, and holds no connection: %j',
    async (path) => {
      const forwarder = new Forwarder(optionsOf({ connections: 1 }));
      await expect(async () => forwarder.send(requestOf(path), stays)).rejects.toThrow(TypeError);
      expect(await outcomeOf(forwarder, '/echo')).toBe(200);
      forwarder.close();
    },
  );
});

describe('The length of a body at hand', () => {
  it.each(['5', '4', '6', '0'])('is told as it is, where %s was said', async (length) => {
    const forwarder = new Forwarder(optionsOf());
    const headers = { 'content-length': length };
    const body = Buffer.from('hello');
    const response = await forwarder.send(
      requestOf('/echo', { method: 'POST', headers, body }),
      stays,
    );
    const said = Buffer.from(String(await response.whole(WHOLE)), 'base64').toString('latin1');
    expect(said.match(/content-length: .*/gi)).toEqual(['content-length: 5']);
    expect(said.endsWith('\r\n\r\nhello')).toBe(true);
    forwarder.close();
  });
});

async function* nothing(): AsyncGenerator<Uint8Array> {}
