import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { FrameReader, sendFrame } from '../../../src/lance/wire/frames.ts';

interface Message {
  readonly text: string;
}

type Frame = readonly [Message, Uint8Array];

const frames: readonly Frame[] = [
  [{ text: '' }, Buffer.alloc(0)],
  [{ text: 'ä' }, Buffer.from('abc')],
  [{ text: 'x'.repeat(70_000) }, Buffer.alloc(300_000, 7)],
  [{ text: 'end' }, Buffer.alloc(0)],
];

/** The bytes of frames as they are sent. */
async function sentBytes(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const server = createServer((socket) => socket.on('data', (chunk: Buffer) => chunks.push(chunk)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  for (const [message, bytes] of frames)
    sendFrame(socket, message, bytes.subarray(0, 1), bytes.subarray(1));
  process.nextTick(() => socket.end());
  await once(socket, 'close');
  await new Promise((resolve) => server.close(resolve));
  return Buffer.concat(chunks);
}

function read(bytes: Buffer, size: number): readonly Frame[] {
  const found: Frame[] = [];
  const reader = new FrameReader<Message>((message, bytes) => found.push([message, bytes]));
  for (let start = 0; start < bytes.length; start += size) {
    reader.add(bytes.subarray(start, start + size));
  }
  return found;
}

it('reads frames in chunks of any size', async () => {
  const bytes = await sentBytes();
  for (const size of [1, 7, 8, 9, 1000, 65_536, bytes.length]) {
    const found = read(bytes, size);
    expect(found.map(([message]) => message)).toEqual(frames.map(([message]) => message));
    for (const [at, [, each]] of frames.entries())
      expect(Buffer.compare(each, found[at]![1])).toBe(0);
  }
});

it('reads frames into memory that it provides', async () => {
  const bytes = await sentBytes();
  const found: Frame[] = [];
  const reader = new FrameReader<Message>((message, all) => found.push([message, all]));
  let longest = 0;
  for (let start = 0; start < bytes.length;) {
    const room = reader.room();
    const read = bytes.copy(room, 0, start);
    longest = Math.max(longest, read);
    reader.add(room.subarray(0, read));
    start += read;
  }
  expect(found.map(([message]) => message)).toEqual(frames.map(([message]) => message));
  for (const [at, [, each]] of frames.entries())
    expect(Buffer.compare(each, found[at]![1])).toBe(0);
  expect(longest).toBeGreaterThan(290_000);
});

it('reads long bytes to where they stay', () => {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(2, 0);
  header.writeUInt32LE(100_000, 4);
  const found: Uint8Array[] = [];
  const reader = new FrameReader((_, bytes) => found.push(bytes));
  reader.add(Buffer.concat([header, Buffer.from('{}')]));
  const room = reader.room();
  expect(room.byteLength).toBe(100_000);
  reader.add(room.subarray(0, 40_000));
  expect(reader.room().byteLength).toBe(60_000);
  reader.add(reader.room());
  expect(found.map(({ buffer }) => buffer)).toEqual([room.buffer]);
});

it('refuses bytes that are no frame', () => {
  const reader = new FrameReader(() => undefined);
  expect(() => reader.add(Buffer.alloc(8, 0xff))).toThrow('no frame');
});
