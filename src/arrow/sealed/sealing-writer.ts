import { crc32 } from '@node-rs/crc32';
import type { RecordBatch, Schema } from 'apache-arrow';
import { FileWriter, type FileLayout } from '../ipc/file-writer.ts';
import { encodeSealBlock, type FileSeal } from './file-seal.ts';
import { PortionSums } from './portion-checks.ts';

/** Largest batch whose pieces are joined, in bytes. */
const JOINED_BYTES = 2 ** 16;

/** The last bytes of a file, and its seal. */
export interface SealedEnd {
  readonly bytes: Uint8Array;
  readonly seal: FileSeal;
}

/**
 * A `FileWriter` whose file has a seal: a block of checksums between the end of the stream and the
 * footer. Readers of the format find the footer at the end of the file and skip the block.
 */
export class SealingWriter {
  readonly #writer: FileWriter;
  readonly #sums = new PortionSums();

  constructor(schema: Schema, layout?: FileLayout) {
    this.#writer = new FileWriter(schema, layout);
  }

  /** Bytes handed out so far. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  /** Rows of the batches so far. */
  get rows(): number {
    return this.#writer.rows;
  }

  /** As `FileWriter.begin`. */
  begin(): Uint8Array {
    const begin = this.#writer.begin();
    this.#sums.add(begin);
    return begin;
  }

  /** As `FileWriter.batch`. The pieces of a small batch are joined: a call for each costs more than their copy. */
  batch(batch: RecordBatch): readonly Uint8Array[] {
    const before = this.#writer.bytes;
    const encoded = this.#writer.batch(batch);
    const isSmall = this.#writer.bytes - before <= JOINED_BYTES;
    const pieces = isSmall ? [Buffer.concat(encoded)] : encoded;
    for (const piece of pieces) this.#sums.add(piece);
    return pieces;
  }

  /** As `FileWriter.end`, with the seal of the file. */
  end(): SealedEnd {
    let seal: FileSeal | undefined;
    const bytes = this.#writer.end((before, tail) => {
      for (const piece of before) this.#sums.add(piece);
      const { bytes: contentBytes } = this.#sums;
      const block = { contentBytes, tailSum: crc32(tail), sums: this.#sums.finish() };
      const encoded = encodeSealBlock(block);
      ({ seal } = encoded);
      return encoded.bytes;
    });
    if (seal === undefined) throw new Error('the file ended without its seal');
    return { bytes, seal };
  }
}
