import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { withLargeReads } from '../../src/lance/large-reads.ts';

const BYTES = 5_000_000;
/** Sends numbers on file 3, as 32-bit integers, and reads what it is sent to the end. */
const SENDER = `
  const socket = new (require('node:net').Socket)({ fd: 3, readable: true, writable: true });
  socket.write(Buffer.from(Uint32Array.from({ length: ${BYTES / 4} }, (_, at) => at).buffer));
  socket.on('data', () => socket.end());
`;

it('reads everything in its order, into memory that reads share', async () => {
  const child = spawn(process.execPath, ['-e', SENDER], { stdio: ['ignore', 2, 2, 'pipe'] });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let haveAll = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    haveAll = resolve;
  });
  const socket = withLargeReads(child.stdio[3] as Socket, (piece) => {
    pieces.push(piece);
    bytes += piece.byteLength;
    if (bytes === BYTES) haveAll();
  });
  await all;
  socket.write('end');
  await once(child, 'exit');
  socket.destroy();
  const found = Uint8Array.from(Buffer.concat(pieces));
  expect(new Uint32Array(found.buffer).every((value, at) => value === at)).toBe(true);
  // Three quarters of each memory are filled before the next one is taken.
  const memories = new Set(pieces.map(({ buffer }) => buffer));
  expect(memories.size).toBeLessThanOrEqual(Math.ceil(BYTES / (3 * 2 ** 16)));
});

it('reads as Node does where a socket has no handle', () => {
  const socket = new Socket();
  const pieces: Uint8Array[] = [];
  expect(withLargeReads(socket, (piece) => pieces.push(piece))).toBe(socket);
  const piece = Buffer.from('bytes');
  socket.emit('data', piece);
  expect(pieces).toEqual([piece]);
});
