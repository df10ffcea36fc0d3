import { Socket, type SocketConstructorOpts } from 'node:net';
import { readsInto, type ByteReader } from './wire/reads.ts';

/**
 * Has the bytes of a process read into the memory of their reader, without a copy. Node reads 64 KiB at a time, each
 * into memory of its own; a large answer takes a third of the reads here.
 * @param socket One that the start of a process gave, and that nobody has read.
 * @returns The socket to use in its place.
 */
export function withLargeReads(socket: Socket, reader: ByteReader): Socket {
  // `child_process` gives no way to pass `onread`, and a handle is no documented option of a socket.
  const { _handle: handle } = socket as unknown as { readonly _handle?: object | null };
  if (handle == null) return socket.on('data', (bytes: Buffer) => reader.add(bytes));
  const options = { handle, onread: readsInto(reader) };
  return new Socket(options as SocketConstructorOpts);
}
