import type { Socket } from 'node:net';

/** A body that does not come in one piece. */
export const LARGE = 'helloworld'.repeat(50_000);
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** What a backend does with a request, by the path of the request. */
export const acts: Readonly<Record<string, (socket: Socket, request: string) => void>> = {
  '/echo': (socket, request) => {
    const body = Buffer.from(request, 'latin1').toString('base64');
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  },
  '/dies': (socket) => socket.destroy(),
  '/no-http': (socket) => socket.end('this is not HTTP\r\n\r\n'),
  '/switches': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  '/silent': () => undefined,
  '/continues': (socket) =>
    socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n'),
  '/half': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello');
    setTimeout(() => socket.destroy(), 20);
  },
  '/hangs': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello'),
  '/two-lengths': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
  '/chunked': (socket) => socket.write(`${CHUNKED}5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n`),
  '/chunk-by-chunk': (socket) =>
    inPieces(socket, [`${CHUNKED}5\r\nhe`, 'llo\r\n', '5\r\nworld\r\n0\r\n', '\r\n']),
  '/announced': (socket) =>
    inPieces(socket, [
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhelloworld',
    ]),
  '/byte-by-byte': (socket) =>
    inPieces(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhelloworld'.split('')),
  '/late': (socket) =>
    inPieces(socket, ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhe', 'llowor', 'ld']),
  '/repeats': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 10\r\n\r\nhelloworld'),
  '/latin': (socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\netag: "caf\xe9"\r\nx-lance-a: 1\r\nX-Lance-A: 2\r\ncontent-length: 0\r\n\r\n',
      'latin1',
    ),
  '/closes': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\nhelloworld'),
  '/closes-soon': (socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nkeep-alive: timeout=0\r\ncontent-length: 10\r\n\r\nhelloworld',
    ),
  '/until-its-end': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhelloworld'),
  '/large': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${LARGE.length}\r\n\r\n${LARGE}`),
  '/unasked': (socket) =>
    inPieces(socket, [
      'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhelloworld',
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil',
    ]),
};

/** Writes each piece a little after the one before, so that they are read one by one. */
function inPieces(socket: Socket, [first, ...rest]: readonly string[]): void {
  if (first === undefined) return;
  socket.write(first);
  setTimeout(() => inPieces(socket, rest), 5);
}
