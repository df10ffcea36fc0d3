import { open } from 'node:fs/promises';

const PIECE_BYTES = 4 * 2 ** 20;
const NEWLINE = 0x0a;

/** A part of a file of lines. */
export interface LinePiece {
  /** Whole lines with their newlines; of the last piece, perhaps the torn beginning of one more. */
  readonly bytes: Buffer;
  /** Whether the last line has no newline. */
  readonly torn: boolean;
}

/** A file of lines in pieces that end where a line ends. The bytes of a piece are good until the next is asked for. */
export async function* linePieces(path: string): AsyncGenerator<LinePiece> {
  const file = await open(path, 'r');
  try {
    let memory = Buffer.allocUnsafe(PIECE_BYTES);
    let begun = 0;
    for (;;) {
      if (begun === memory.length) memory = Buffer.concat([memory, Buffer.allocUnsafe(begun)]);
      const { bytesRead } = await file.read(memory, begun, memory.length - begun);
      if (bytesRead === 0) break;
      const filled = begun + bytesRead;
      const end = memory.lastIndexOf(NEWLINE, filled - 1) + 1;
      if (end > 0) yield { bytes: memory.subarray(0, end), torn: false };
      memory.copyWithin(0, end, filled);
      begun = filled - end;
    }
    if (begun > 0) yield { bytes: memory.subarray(0, begun), torn: true };
  } finally {
    await file.close();
  }
}
