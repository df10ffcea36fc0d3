import { FlatTable } from './flatbuffer.ts';
import { fileMagic } from './framing.ts';

/** The number of the union `MessageHeader` in Message.fbs. */
const RECORD_BATCH = 3;
/** Length of the magic with its padding, and of the words before a message. */
const WORDS = 8;

/**
 * Counts the rows of an Arrow file or stream while its bytes pass. A batch counts once its metadata has
 * passed. Bodies are skipped, so the work is that of the batches. Bytes that are no Arrow count nothing.
 */
export class PassedRows {
  #rows = 0n;
  /** Bytes of the current message that have not passed; of a body they are skipped. */
  #skip = 0;
  /** Start of a message: its words, and then its metadata as well. */
  #head: Uint8Array = new Uint8Array(0);
  #isStart = true;
  #ended = false;

  get rows(): bigint {
    return this.#rows;
  }

  add(piece: Uint8Array): void {
    let at = 0;
    while (!this.#ended && at < piece.byteLength) {
      const skipped = Math.min(this.#skip, piece.byteLength - at);
      this.#skip -= skipped;
      at += skipped;
      if (at < piece.byteLength) at += this.#take(piece.subarray(at));
    }
  }

  /** Takes bytes of the start of a message. @returns How many. */
  #take(bytes: Uint8Array): number {
    const wanted = this.#wanted();
    const more = bytes.subarray(0, wanted - this.#head.byteLength);
    this.#head = this.#head.byteLength === 0 ? more : Buffer.concat([this.#head, more]);
    // The caller may use the memory of the piece for other bytes.
    if (this.#head.byteLength < wanted) this.#head = Uint8Array.from(this.#head);
    else this.#advance(this.#head);
    return more.byteLength;
  }

  #wanted(): number {
    return this.#head.byteLength < WORDS ? WORDS : WORDS + metadataBytes(this.#head);
  }

  /** Goes on where the words of a message, or its metadata, are complete. */
  #advance(head: Uint8Array): void {
    if (this.#isStart) {
      this.#isStart = false;
      if (Buffer.from(head.subarray(0, fileMagic.length)).toString('latin1') === fileMagic) {
        this.#head = new Uint8Array(0);
        return;
      }
    }
    const bytes = metadataBytes(head);
    if (bytes <= 0) {
      // The end of the stream; a footer follows in a file.
      this.#ended = true;
    } else if (head.byteLength === WORDS) this.#head = Uint8Array.from(head);
    else this.#message(head.subarray(WORDS));
  }

  #message(metadata: Uint8Array): void {
    this.#head = new Uint8Array(0);
    try {
      const root = FlatTable.root(metadata);
      this.#skip = root.int64(3);
      if (root.uint8(1) === RECORD_BATCH) this.#rows += BigInt(root.table(2)?.int64(0) ?? 0);
    } catch {
      this.#ended = true;
    }
  }
}

function metadataBytes(head: Uint8Array): number {
  return new DataView(head.buffer, head.byteOffset, head.byteLength).getInt32(4, true);
}
