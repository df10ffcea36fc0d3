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
  for (const [message, bytes] of frames) sendFrame(socket, message, bytes);
  process.nextTick(() => socket.end());
  await once(socket, 'close');
  await new Promise((resolve) => server.close(resolve));
  return Buffer.concat(chunks);
}

function read(bytes: Buffer, size: number): readonly Frame[] {
  const found: Frame[] = [];
  const reader = new FrameReader<Message>((message, parts) =>
    found.push([message, Buffer.concat(parts)]),
  );
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

it('does not copy the bytes of a message', () => {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(2, 0);
  header.writeUInt32LE(5, 4);
  const chunks = [Buffer.concat([header, Buffer.from('{}ab')]), Buffer.from('cde')];
  const found: Uint8Array[] = [];
  const reader = new FrameReader((_, parts) => found.push(...parts));
  for (const chunk of chunks) reader.add(chunk);
  expect(found.map(({ buffer }) => buffer)).toEqual(chunks.map(({ buffer }) => buffer));
  expect(Buffer.concat(found).toString()).toBe('abcde');
});

it('joins bytes of a message that lie one behind the other', () => {
  const all = Buffer.alloc(15);
  all.writeUInt32LE(2, 0);
  all.writeUInt32LE(5, 4);
  all.write('{}abcde', 8);
  const found: Uint8Array[] = [];
  const reader = new FrameReader((_, parts) => found.push(...parts));
  for (const [start, end] of [
    [0, 12],
    [12, 14],
    [14, 15],
  ] as const)
    reader.add(all.subarray(start, end));
  expect(found.map((part) => Buffer.from(part).toString())).toEqual(['abcde']);
  expect(found[0]!.buffer).toBe(all.buffer);
});

it('refuses bytes that are no frame', () => {
  const reader = new FrameReader(() => undefined);
  expect(() => reader.add(Buffer.alloc(8, 0xff))).toThrow('no frame');
});
