import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { writeGroup, writeGrouped } from '../../../src/gateway/http/answer-group.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function clientOf(listener: RequestListener): Promise<Socket> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

function request(target: string): string {
  return `GET ${target} HTTP/1.1\r\nhost: h\r\n\r\n`;
}

/** What a client receives until it has a number of answers. */
async function received(socket: Socket, answers: number): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.split('HTTP/1.1 200').length > answers && text.endsWith('!')) break;
  }
  return text;
}

const answering: RequestListener = ({ url }, response) => {
  const body = `${url}!`;
  response.writeHead(200, ['content-length', String(body.length)]);
  writeGrouped({ response, body, encoding: 'latin1' });
};

describe('short answers of one turn', () => {
  it('go out whole, in the order of their requests', async () => {
    const client = await clientOf(answering);
    const targets = Array.from({ length: 80 }, (_, at) => `/${at}`);
    client.write(targets.map(request).join(''));
    const text = await received(client, targets.length);
    expect(text.match(/\/\d+!/g)).toEqual(targets.map((target) => `${target}!`));
  });

  it('may be bytes, or empty', async () => {
    const bodies = [Buffer.from('bytes'), '', '!'];
    const client = await clientOf((_, response) => {
      const body = bodies.shift()!;
      response.writeHead(200, ['content-length', String(body.length)]);
      writeGrouped({ response, body, encoding: 'latin1' });
    });
    client.write([request('/1'), request('/2'), request('/3')].join(''));
    const text = await received(client, 3);
    expect(text.match(/content-length: \d+/g)).toEqual(
      [5, 0, 1].map((n) => `content-length: ${n}`),
    );
    expect(text).toContain('\r\n\r\nbytesHTTP/1.1 200');
  });

  it('are written at once when that is asked for', async () => {
    const ended: boolean[] = [];
    const client = await clientOf((incoming, response) => {
      answering(incoming, response);
      ended.push(response.writableEnded);
      writeGroup();
      ended.push(response.writableEnded);
    });
    client.write(request('/now'));
    await received(client, 1);
    expect(ended).toEqual([false, true]);
  });

  it('are dropped for a client that has gone, and written for the others', async () => {
    const client = await clientOf((incoming, response) => {
      answering(incoming, response);
      if (incoming.url === '/gone') response.destroy();
    });
    const gone = once(client, 'close');
    client.write(request('/gone'));
    await gone;
    const other = connect((server!.address() as AddressInfo).port, '127.0.0.1');
    other.write(request('/there'));
    expect(await received(other, 1)).toContain('/there!');
  });
});
