import { FileDescriptor } from './file-descriptor.ts';
import type { OpenObject } from './storage.ts';

const NEWLINE = 0x0a;
const CHUNK_BYTES = 256 * 1024;

export interface FileLine {
  /** From 1. */
  readonly number: number;
  /** Without its newline. */
  readonly bytes: Buffer;
  /** False for a last line that has no newline: it was torn, or is being written. */
  readonly ended: boolean;
}

/** The lines of a file, in order. Lines may be of any length; one is in memory at a time. */
export async function* readLines(path: string): AsyncGenerator<FileLine> {
  yield* linesOf(FileDescriptor.open(path, 'r'));
}

/** The lines of an object in order; it is closed after the last one or when the consumer stops. */
export async function* linesOf(object: OpenObject): AsyncGenerator<FileLine> {
  try {
    let begun: Buffer[] = [];
    let number = 1;
    for await (const chunk of chunksOf(object)) {
      let rest = chunk;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
        begun.push(rest.subarray(0, end));
        yield { number, bytes: Buffer.concat(begun), ended: true };
        number += 1;
        begun = [];
        rest = rest.subarray(end + 1);
      }
      if (rest.length > 0) begun.push(rest);
    }
    if (begun.length > 0) yield { number, bytes: Buffer.concat(begun), ended: false };
  } finally {
    object.close();
  }
}

async function* chunksOf(object: OpenObject): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    const read = await object.read(chunk, position);
    if (read === 0) return;
    position += read;
    yield chunk.subarray(0, read);
  }
}
