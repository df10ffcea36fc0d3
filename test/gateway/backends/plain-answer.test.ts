import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainAnswerIn } from '../../../src/gateway/backends/plain-answer.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const OK = 'HTTP/1.1 200 OK\r\n';

describe('An answer that is there whole', () => {
  it.each([
    ['of a known length', `${OK}Content-Type: a/b\r\nContent-Length: 5\r\n\r\nhello`, 'hello'],
    ['without a body', `${OK}content-length: 0\r\n\r\n`, ''],
    ['that has none by its status', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['without a reason', 'HTTP/1.1 404\r\ncontent-length: 2\r\n\r\nno', 'no'],
    ['with an empty reason', 'HTTP/1.1 404 \r\ncontent-length: 2\r\n\r\nno', 'no'],
    [
      'in chunks',
      `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n02\r\nlo\r\n0\r\n\r\n`,
      'hello',
    ],
    ['in no chunk', `${OK}transfer-encoding: Chunked\r\n\r\n0\r\n\r\n`, ''],
    ['that looks like a head', `${OK}content-length: 4\r\n\r\n\r\n\r\n`, '\r\n\r\n'],
  ])('is taken as it lies: one %s', (_, text, body) => {
    const answer = plainAnswerIn(bytes(text));
    expect(answer).toMatchObject({ keeps: Infinity });
    expect(String((answer as { readonly body: Buffer }).body)).toBe(body);
  });

  it('has its fields by their names in lower case, without the white space around them', () => {
    const text = `${OK}ETag:\t "a b" \t\r\nX-Lance-\x66oo: caf\xe9\r\nEmpty:\r\ncontent-length: 0\r\n\r\n`;
    expect(plainAnswerIn(bytes(text))).toMatchObject({
      status: 200,
      headers: { etag: '"a b"', 'x-lance-foo': 'caf\xe9', empty: '', 'content-length': '0' },
    });
  });

  it.each([
    ['connection: close', 0],
    ['connection: Keep-Alive', Infinity],
    ['connection: keep-alive, x-a', 0],
    ['keep-alive: timeout=5', 4_000],
    ['keep-alive: timeout=5, max=100', 4_000],
    ['keep-alive: timeout=1', 0],
    ['keep-alive: timeout=0', 0],
    ['keep-alive: max=100', Infinity],
  ])('says with %s for how long its connection is kept', (field, keeps) => {
    const answer = plainAnswerIn(bytes(`${OK}${field}\r\ncontent-length: 0\r\n\r\n`));
    expect(answer).toMatchObject({ keeps });
  });
});

describe('An answer of which more is to come', () => {
  it('says how many bytes it will have', () => {
    const text = `${OK}content-length: 5\r\n\r\nhello`;
    for (let cut = text.length - 5; cut < text.length; cut++) {
      expect(plainAnswerIn(bytes(text.slice(0, cut)))).toBe(text.length);
    }
    expect(plainAnswerIn(bytes(text))).toMatchObject({ status: 200 });
  });
});

describe('An answer is left to a whole client of HTTP', () => {
  it.each([
    ['no head', 'hello'],
    ['a head without its end', `${OK}content-length: 0\r\n`],
    ['an older version', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['another protocol', 'HTTP/2 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['an announcement', `HTTP/1.1 100 Continue\r\n\r\n${OK}content-length: 0\r\n\r\n`],
    ['another protocol to come', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 x\r\ncontent-length: 0\r\n\r\n'],
    ['a body to the end of the connection', `${OK}content-type: a/b\r\n\r\nhello`],
    ['two lengths', `${OK}content-length: 5\r\ncontent-length: 5\r\n\r\nhello`],
    ['a list of lengths', `${OK}content-length: 5, 5\r\n\r\nhello`],
    ['a signed length', `${OK}content-length: +5\r\n\r\nhello`],
    ['a length in hexadecimal', `${OK}content-length: 0x5\r\n\r\nhello`],
    ['an empty length', `${OK}content-length:\r\n\r\n`],
    [
      'a length and chunks',
      `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['another coding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['bytes after its body', `${OK}content-length: 5\r\n\r\nhello!`],
    ['bytes after a status without a body', 'HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200'],
    ['a length where no body is', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'],
    ['a repeated field', `${OK}x-lance-a: 1\r\nX-Lance-A: 2\r\ncontent-length: 0\r\n\r\n`],
    ['a name that objects have', `${OK}constructor: 1\r\ncontent-length: 0\r\n\r\n`],
    ['a space before a colon', `${OK}content-length : 0\r\n\r\n`],
    ['a name with a space', `${OK}x a: 1\r\ncontent-length: 0\r\n\r\n`],
    ['a line without a name', `${OK}: 1\r\ncontent-length: 0\r\n\r\n`],
    ['a line without a colon', `${OK}x-a\r\ncontent-length: 0\r\n\r\n`],
    ['a folded line', `${OK}x-a: 1\r\n  2\r\ncontent-length: 0\r\n\r\n`],
    ['a lone line feed', `${OK}x-a: 1\nx-b: 2\r\ncontent-length: 0\r\n\r\n`],
    ['a lone carriage return', `${OK}x-a: 1\rx-b: 2\r\ncontent-length: 0\r\n\r\n`],
    ['a zero byte', `${OK}x-a: 1\0\r\ncontent-length: 0\r\n\r\n`],
    ['a zero byte in its reason', 'HTTP/1.1 200 O\0K\r\ncontent-length: 0\r\n\r\n'],
    ['an offer of another protocol', `${OK}upgrade: h2c\r\ncontent-length: 0\r\n\r\n`],
    ['a long body', `${OK}content-length: 65537\r\n\r\n`],
    ['a body longer than any number', `${OK}content-length: 99999999999999999999\r\n\r\n`],
    ['chunks of which more is to come', `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`],
    ['a chunk that is cut', `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhel`],
    [
      'a chunk longer than it says',
      `${OK}transfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`,
    ],
    ['a chunk with an extension', `${OK}transfer-encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\n\r\n`],
    ['a size of many digits', `${OK}transfer-encoding: chunked\r\n\r\n000000\r\n\r\n`],
    ['a trailer', `${OK}transfer-encoding: chunked\r\n\r\n0\r\nx-a: 1\r\n\r\n`],
    ['bytes after the last chunk', `${OK}transfer-encoding: chunked\r\n\r\n0\r\n\r\nx`],
    ['a long head', `${OK}x-a: ${'a'.repeat(9_000)}\r\ncontent-length: 0\r\n\r\n`],
  ])('where it has %s', (_, text) => {
    expect(plainAnswerIn(bytes(text))).toBeUndefined();
  });
});

/** What Node's client reads in these bytes. */
async function readByNode(answer: Buffer): Promise<object | undefined> {
  const socket = new Duplex({ read() {}, write: (_, __, done) => done() });
  const outgoing = request({ createConnection: () => socket, method: 'POST' });
  outgoing.on('error', () => undefined);
  outgoing.end();
  socket.push(answer);
  socket.push(null);
  try {
    const [message] = (await once(outgoing, 'response')) as [IncomingMessage];
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString('latin1');
    return { status: message.statusCode, headers: { ...message.headers }, body };
  } catch {
    return undefined;
  }
}

const piece = fc.constantFrom(
  'content-length: 5',
  'Content-Length:5',
  'content-length: 3',
  'content-length: 05',
  'x-a: 1',
  'transfer-encoding: chunked',
  'connection: close',
  'x-b:\t2 ',
  'etag: "\xe9"',
  ' folded',
  'keep-alive: timeout=5',
  'x-c : 3',
  'set-cookie: a',
  'content-type: a/b',
  'x-d: a:b',
  '',
);
const statusLine = fc.constantFrom(
  'HTTP/1.1 200 OK',
  'HTTP/1.1 404',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 x',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 100 x',
  'HTTP/1.1  200 OK',
  'HTTP/1.1 500 \xff',
);
const body = fc.constantFrom('', 'hello', 'hel', 'hello!', '5\r\nhello\r\n0\r\n\r\n', '0\r\n\r\n');
const lineEnd = fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r');

describe('Every answer that is taken', () => {
  it("is what Node's client reads", async () => {
    let taken = 0;
    const property = fc.asyncProperty(
      statusLine,
      fc.array(fc.tuple(piece, lineEnd), { maxLength: 4 }),
      body,
      async (first, lines, content) => {
        const head = [`${first}\r\n`, ...lines.map((each) => each.join(''))].join('');
        const all = bytes(`${head}\r\n${content}`);
        const answer = plainAnswerIn(all);
        if (answer === undefined || typeof answer === 'number') return;
        taken += 1;
        const { status, headers } = answer;
        const read = { status, headers, body: answer.body.toString('latin1') };
        const { 'set-cookie': cookie } = headers;
        const said = cookie === undefined ? headers : { ...headers, 'set-cookie': [cookie] };
        expect(await readByNode(all)).toEqual({ ...read, headers: said });
      },
    );
    await fc.assert(property, { numRuns: 3_000, seed: 7 });
    expect(taken).toBeGreaterThan(30);
  });
});
