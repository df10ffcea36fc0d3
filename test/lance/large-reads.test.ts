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

it('reads everything in its order, into the memory of its reader', async () => {
  const child = spawn(process.execPath, ['-e', SENDER], { stdio: ['ignore', 2, 2, 'pipe'] });
  const found = new Uint8Array(BYTES);
  let bytes = 0;
  let haveAll = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    haveAll = resolve;
  });
  const reader = {
    // A read needs room, also the one that finds the end.
    room: () => (bytes < BYTES ? found.subarray(bytes) : Buffer.alloc(1)),
    add: (piece: Uint8Array) => {
      expect(piece.buffer).toBe(found.buffer);
      expect(piece.byteOffset).toBe(bytes);
      bytes += piece.byteLength;
      if (bytes === BYTES) haveAll();
    },
  };
  const socket = withLargeReads(child.stdio[3] as Socket, reader);
  await all;
  socket.write('end');
  await once(child, 'exit');
  socket.destroy();
  expect(new Uint32Array(found.buffer).every((value, at) => value === at)).toBe(true);
});

it('reads as Node does where a socket has no handle', () => {
  const socket = new Socket();
  const pieces: Uint8Array[] = [];
  const reader = { room: () => Buffer.alloc(0), add: (piece: Uint8Array) => pieces.push(piece) };
  expect(withLargeReads(socket, reader)).toBe(socket);
  const piece = Buffer.from('bytes');
  socket.emit('data', piece);
  expect(pieces).toEqual([piece]);
});
