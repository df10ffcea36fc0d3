import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';

/** Size of the memory that reads fill one after the other. */
const MEMORY_BYTES = 256 * 1024;
/** Least room for a read: what Node reads at once by itself. */
const LEAST_BYTES = 2 ** 16;

/**
 * Has the bytes of a process taken in large reads, without a copy. Node reads 64 KiB at a time, each into memory
 * of its own; a large answer takes a third of the reads here, and those that follow one another lie together.
 * @param socket One that the start of a process gave, and that nobody has read.
 * @returns The socket to use in its place.
 */
export function withLargeReads(socket: Socket, take: (bytes: Uint8Array) => void): Socket {
  // `child_process` gives no way to pass `onread`, and a handle is no documented option of a socket.
  const { _handle: handle } = socket as unknown as { readonly _handle?: object | null };
  if (handle == null) return socket.on('data', take);
  let memory = Buffer.allocUnsafeSlow(MEMORY_BYTES);
  let filled = 0;
  const onread: OnReadOpts = {
    buffer: () => {
      if (memory.byteLength - filled < LEAST_BYTES) {
        memory = Buffer.allocUnsafeSlow(MEMORY_BYTES);
        filled = 0;
      }
      return memory.subarray(filled);
    },
    callback: (bytes, into) => {
      filled += bytes;
      take(into.subarray(0, bytes));
      return true;
    },
  };
  const options = { handle, onread };
  return new Socket(options as SocketConstructorOpts);
}
