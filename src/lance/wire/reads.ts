import type { OnReadOpts } from 'node:net';

/** Takes the bytes of a socket, in memory that it provides. */
export interface ByteReader {
  /** Memory for the next read. */
  room(): Uint8Array;
  add(bytes: Uint8Array): void;
}

/** The option of a socket whose bytes are read into the memory of a reader. */
export function readsInto(reader: ByteReader): OnReadOpts {
  return {
    buffer: () => reader.room(),
    callback: (bytes, into) => {
      reader.add(into.subarray(0, bytes));
      return true;
    },
  };
}
