import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ByteStream } from '../../src/protocol/backend.ts';
import { ADMIN, admin, ask, json, start, type Harness, type Setup } from './harness.ts';
import { eventually } from '../support/eventually.ts';

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

async function open(setup: Setup = {}): Promise<void> {
  harness = await start(setup);
}

const MIB = 1024 * 1024;
const INSERT = '/v1/table/prod$t/insert';
const QUERY = '/v1/table/prod$t/query';
const CHUNK = Buffer.alloc(64 * 1024, 7);

function socketTo(target: Harness): Socket {
  return connect(Number(target.url.port), target.url.hostname);
}

function collected(socket: Socket): { text: () => string } {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (more: string) => {
    text += more;
  });
  return { text: () => text };
}

/** Resolves when the connection is gone, however that came. */
function closeOf(socket: Socket): Promise<void> {
  socket.on('error', () => undefined);
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

function requestHead(path: string, key: string, ...more: readonly string[]): string {
  return [`POST ${path} HTTP/1.1`, 'Host: h', `x-api-key: ${key}`, ...more, '', ''].join('\r\n');
}

const chunked = 'Transfer-Encoding: chunked';

/** Writes an upload to its end before it reads anything, as many clients do. */
async function uploadBlindly(socket: Socket, bytes: number): Promise<void> {
  socket.pause();
  const piece = Buffer.concat([Buffer.from('10000\r\n'), CHUNK, Buffer.from('\r\n')]);
  for (let sent = 0; sent < bytes; sent += CHUNK.length) {
    if (!socket.write(piece)) await once(socket, 'drain');
  }
  socket.write('0\r\n\r\n');
  socket.resume();
}

describe('an upload that is refused', () => {
  it('is read to its end, so that the client sees the answer, and the connection lives on', async () => {
    await open();
    const key = await harness.key({ roles: ['role:analyst'] });
    const socket = socketTo(harness);
    const answer = collected(socket);
    socket.write(requestHead(INSERT, key, chunked));
    await uploadBlindly(socket, 50 * MIB);
    await eventually(() => expect(answer.text()).toContain('"code":15'));
    expect(answer.text()).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    socket.write(requestHead('/v1/table/prod$t/query', key, 'Content-Length: 0'));
    await eventually(() => expect(answer.text()).toContain('HTTP/1.1 200 OK'));
    socket.destroy();
  });

  it('is answered at once, not at its end', async () => {
    await open();
    const key = await harness.key({ roles: ['role:analyst'] });
    const outgoing = request(harness.url, {
      path: INSERT,
      method: 'POST',
      headers: { 'x-api-key': key },
    });
    outgoing.write(CHUNK);
    const [incoming] = (await once(outgoing, 'response')) as [{ statusCode: number }];
    expect(incoming.statusCode).toBe(403);
    expect(harness.audit.outcomes()).toMatchObject([{ status: 403, bytes_in: 0 }]);
    outgoing.destroy();
  });

  it('by a backend that has read a part of it ends the same way', async () => {
    await open({
      handle: async (incoming) => {
        for await (const chunk of incoming.body) {
          expect(chunk.length).toBeGreaterThan(0);
          break;
        }
        return { status: 409, contentType: 'application/json', body: '{"code":14}' };
      },
    });
    const socket = socketTo(harness);
    const answer = collected(socket);
    socket.write(requestHead(INSERT, ADMIN, chunked));
    await uploadBlindly(socket, 50 * MIB);
    await eventually(() => expect(answer.text()).toContain('"code":14'));
    socket.destroy();
  });

  it.each([
    ['too many bytes', { bytes: MIB, milliseconds: 60_000 }],
    ['too long', { bytes: 1024 * MIB, milliseconds: 200 }],
  ])('and goes on for %s is cut off', async (_, linger) => {
    await open({ linger });
    const socket = socketTo(harness);
    const answer = collected(socket);
    const closed = closeOf(socket);
    socket.write(requestHead(INSERT, 'nobody', chunked));
    const writing = setInterval(() => socket.write(`10000\r\n${'a'.repeat(65_536)}\r\n`), 5);
    await closed;
    clearInterval(writing);
    expect(answer.text()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  });
});

describe('a client that waits to be told to send', () => {
  const expecting = ['Expect: 100-continue', 'Content-Length: 4'];

  it('is told to go on only when somebody reads', async () => {
    await open({
      handle: async (incoming) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of incoming.body) chunks.push(chunk);
        return { status: 200, body: Buffer.concat(chunks).toString() };
      },
    });
    const socket = socketTo(harness);
    const answer = collected(socket);
    socket.write(requestHead(INSERT, ADMIN, ...expecting));
    await eventually(() => expect(answer.text()).toBe('HTTP/1.1 100 Continue\r\n\r\n'));
    expect(harness.events).toEqual(['attempt InsertIntoTable durable', 'handle InsertIntoTable']);
    socket.write('rows');
    await eventually(() => expect(answer.text()).toMatch(/HTTP\/1\.1 200 OK[^]*rows$/));
    socket.destroy();
  });

  it('is refused without being told to send, and the connection is not used again', async () => {
    await open();
    const socket = socketTo(harness);
    const answer = collected(socket);
    socket.write(requestHead(INSERT, 'nobody', ...expecting));
    await once(socket, 'close');
    expect(answer.text()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
    expect(answer.text().toLowerCase()).toContain('\r\nconnection: close\r\n');
  });
});

describe('a streamed answer', () => {
  it('is sent whole, and its size recorded when it is sent', async () => {
    await open({
      handle: () => ({ status: 200, contentType: 'a/b', body: pieces(100) }),
    });
    const reply = await ask(harness, QUERY, { headers: admin });
    expect(reply.text.length).toBe(100 * CHUNK.length);
    await eventually(() =>
      expect(harness.audit.outcomes()).toMatchObject([
        { status: 200, code: null, bytes_out: BigInt(100 * CHUNK.length) },
      ]),
    );
  });

  it('that fails on its way cuts the connection', async () => {
    await open({ handle: () => ({ status: 200, body: pieces(3, new Error('bad sector')) }) });
    await expect(ask(harness, QUERY, { headers: admin })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    await eventually(() =>
      expect(harness.audit.outcomes()).toMatchObject([{ status: 200, code: 18 }]),
    );
    expect(harness.logged.join('')).toContain('bad sector');
  });

  it('says how long it is where that is known, and is as long', async () => {
    await open({ handle: () => ({ status: 200, body: announcing(20, pieces(20)) }) });
    const reply = await ask(harness, QUERY, { headers: admin });
    expect(reply.headers['content-length']).toBe(String(20 * CHUNK.length));
    expect(reply.headers['transfer-encoding']).toBeUndefined();
    expect(reply.text.length).toBe(20 * CHUNK.length);
  });

  it.each([
    ['shorter', 3, /^a body of 1310720 bytes was announced, and ended at 196608$/],
    ['longer', 21, /^a body of 1310720 bytes was announced, and has 1376256$/],
  ])('that is %s than was announced cuts the connection', async (_, count, message) => {
    await open({ handle: () => ({ status: 200, body: announcing(20, pieces(count)) }) });
    const socket = socketTo(harness);
    const answer = collected(socket);
    socket.write(requestHead(QUERY, ADMIN, 'Content-Length: 0'));
    await closeOf(socket);
    const [, body = ''] = answer.text().split('\r\n\r\n', 2);
    expect(body.length).toBeLessThanOrEqual(20 * CHUNK.length);
    await eventually(() =>
      expect(harness.audit.outcomes()).toMatchObject([{ status: 200, code: 18 }]),
    );
    const [{ err }] = harness.logged.map((line) => JSON.parse(line)).filter((line) => line.err);
    expect(err.message).toMatch(message);
  });

  it('is sent whole while others are being answered', async () => {
    await open({
      handle: ({ operation }) =>
        operation.name === 'QueryTable'
          ? { status: 200, body: announcing(400, pieces(400)) }
          : { status: 200, contentType: 'application/json', body: '{}' },
    });
    const query = ask(harness, QUERY, { headers: admin });
    for (let time = 0; time < 30; time++) {
      await ask(harness, '/v1/table/prod$t/describe', { headers: admin });
    }
    expect((await query).text).toBe('\u0007'.repeat(400 * CHUNK.length));
  });

  it('that is there whole is sent at once, with its length, and recorded before', async () => {
    const whole = Buffer.from([0, 1, 254, 255]);
    const body = { whole, [Symbol.asyncIterator]: () => pieces(0, new Error('asked for pieces')) };
    await open({ handle: () => ({ status: 200, contentType: 'application/x', body }) });
    const reply = await ask(harness, QUERY, { headers: admin });
    expect([reply.status, reply.headers['content-length']]).toEqual([200, '4']);
    expect(reply.headers['transfer-encoding']).toBeUndefined();
    expect(harness.audit.outcomes()).toMatchObject([{ status: 200, bytes_out: 4 }]);
  });

  it('that fails before its first byte is an error like any other', async () => {
    await open({ handle: () => ({ status: 200, body: pieces(0, new Error('bad sector')) }) });
    const reply = await ask(harness, QUERY, { headers: admin });
    expect([reply.status, json(reply)['code']]).toEqual([500, 18]);
    expect(harness.audit.outcomes()).toMatchObject([{ status: 500, code: 18 }]);
  });

  it('is read from its source only as fast as the client takes it', async () => {
    let taken = 0;
    const total = 4000;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for (; taken < total; taken += 1) yield CHUNK;
    }
    await open({ handle: () => ({ status: 200, body: counted() }) });
    const socket = socketTo(harness);
    socket.pause();
    socket.write(requestHead(QUERY, ADMIN, 'Content-Length: 0', 'Connection: close'));
    const settled = await untilStill(() => taken);
    expect(settled).toBeGreaterThan(0);
    expect(settled).toBeLessThan(total / 2);
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    socket.resume();
    await once(socket, 'close');
    expect(taken).toBe(total);
    expect(received).toBeGreaterThan(total * CHUNK.length);
  });

  it('lets go of its source when the client leaves', async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield CHUNK;
      } finally {
        closed = true;
      }
    }
    await open({ handle: () => ({ status: 200, body: endless() }) });
    const socket = socketTo(harness);
    socket.write(requestHead(QUERY, ADMIN, 'Content-Length: 0'));
    await once(socket, 'data');
    socket.destroy();
    await eventually(() => expect(closed).toBe(true));
    await eventually(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 499 }]));
  });
});

/** A body that declares a number of chunks. */
function announcing(count: number, body: AsyncIterable<Uint8Array>): ByteStream {
  return {
    [Symbol.asyncIterator]: () => body[Symbol.asyncIterator](),
    length: count * CHUNK.length,
  };
}

async function* pieces(count: number, failure?: Error): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    await Promise.resolve();
    yield CHUNK;
  }
  if (failure !== undefined) throw failure;
}

/** The value once it has stopped growing. */
async function untilStill(value: () => number): Promise<number> {
  for (let before = -1; before !== value() || before === 0;) {
    before = value();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return value();
}

describe('a client that goes away', () => {
  it('while it uploads aborts the request', async () => {
    let aborted = false;
    await open({
      handle: async (incoming) => {
        incoming.signal().addEventListener('abort', () => {
          aborted = true;
        });
        const read: Uint8Array[] = [];
        for await (const chunk of incoming.body) read.push(chunk);
        return { status: 200, body: null };
      },
    });
    const socket = socketTo(harness);
    socket.write(requestHead(INSERT, ADMIN, chunked));
    socket.write('3\r\nabc\r\n');
    await eventually(() => expect(harness.events).toContain('handle InsertIntoTable'));
    socket.destroy();
    await eventually(() =>
      expect(harness.audit.outcomes()).toMatchObject([{ status: 499, code: null }]),
    );
    expect(aborted).toBe(true);
    expect(harness.logged).toEqual([]);
  });

  it('before its answer leaves an outcome, though what it was to be read from fails to close', async () => {
    async function* rows(): AsyncGenerator<Uint8Array> {
      try {
        yield CHUNK;
      } finally {
        await Promise.reject(new Error('it does not close'));
      }
    }
    await open({
      handle: async (incoming) => {
        await once(incoming.signal(), 'abort');
        return { status: 200, body: rows() };
      },
    });
    const socket = socketTo(harness);
    socket.write(requestHead(QUERY, ADMIN, 'Content-Length: 0'));
    await eventually(() => expect(harness.events).toContain('handle QueryTable'));
    socket.destroy();
    await eventually(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 499 }]));
    await eventually(() => expect(harness.logged.join()).toContain('it does not close'));
  });

  it('after its change was made leaves the outcome of the change', async () => {
    let finish: () => void = () => undefined;
    await open({
      handle: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return { status: 200, contentType: 'application/json', body: '{}' };
      },
    });
    const socket = socketTo(harness);
    socket.write(requestHead('/v1/table/prod$t/drop', ADMIN, 'Content-Length: 0'));
    await eventually(() => expect(harness.events).toContain('handle DropTable'));
    socket.destroy();
    finish();
    await eventually(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 200 }]));
  });
});

describe('a stop', () => {
  it('finishes what runs, refuses what comes on open connections, and closes idle ones', async () => {
    let finish: () => void = () => undefined;
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await open({
      handle: async () => {
        await running;
        return { status: 200, contentType: 'application/json', body: '{"done":true}' };
      },
    });
    const idle = socketTo(harness);
    await once(idle, 'connect');
    const first = ask(harness, '/v1/table/prod$t/drop', { headers: admin });
    const pipelined = socketTo(harness);
    const answers = collected(pipelined);
    pipelined.write(requestHead('/v1/table/prod$t/drop', ADMIN, 'Content-Length: 0'));
    await eventually(() =>
      expect(harness.events.filter((event) => event === 'handle DropTable')).toHaveLength(2),
    );
    const stopped = harness.listening.stop();
    await once(idle, 'close');
    pipelined.write(requestHead('/v1/table/prod$t/drop', ADMIN, 'Content-Length: 0'));
    await expect(ask(harness, '/healthz', { method: 'GET' })).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    await eventually(() =>
      expect(harness.audit.outcomes()).toMatchObject([{ status: 503, code: 17 }]),
    );
    finish();
    expect(await first).toMatchObject({ status: 200, text: '{"done":true}' });
    await stopped;
    await eventually(() => expect(answers.text()).toContain('{"done":true}'));
  });

  it('cuts off what takes too long', async () => {
    await open({
      drainMillis: 100,
      handle: (incoming) =>
        new Promise((_, reject) => {
          incoming.signal().addEventListener('abort', () => reject(new Error('stopped')));
        }),
    });
    const reply = ask(harness, QUERY, { headers: admin });
    const failed = expect(reply).rejects.toMatchObject({ code: 'ECONNRESET' });
    await eventually(() => expect(harness.events).toContain('handle QueryTable'));
    await harness.listening.stop();
    await failed;
    expect(harness.audit.outcomes()).toMatchObject([{ status: 499 }]);
  });
});

describe('a connection on which nothing moves', () => {
  it('is cut', async () => {
    await open({
      idleMillis: 100,
      handle: async (incoming) => {
        const read: Uint8Array[] = [];
        for await (const chunk of incoming.body) read.push(chunk);
        return { status: 200, body: null };
      },
    });
    const socket = socketTo(harness);
    const answer = collected(socket);
    const closed = closeOf(socket);
    socket.write(requestHead(INSERT, ADMIN, 'Content-Length: 10'));
    await closed;
    expect(answer.text()).toBe('');
    await eventually(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 499 }]));
  });
});
