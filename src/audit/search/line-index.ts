import { open } from 'node:fs/promises';
import { decodeRecord } from '../record/decoding.ts';
import type { LoggedRecord } from '../record/record.ts';

const NEWLINE = 0x0a;
/** Records of a batch: the batches of a segment hold several of these. */
const BATCH_ROWS = 1024;
const PIECE_BYTES = 2 ** 20;

interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly rows: number;
}

/** Where the records of a file of lines stand, in batches, up to a size that it had. */
export class LineIndex {
  readonly rows: number;
  readonly batchRows: readonly number[];
  readonly #path: string;
  readonly #stretches: readonly Stretch[];

  private constructor(path: string, stretches: readonly Stretch[]) {
    this.#path = path;
    this.#stretches = stretches;
    this.batchRows = stretches.map(({ rows }) => rows);
    this.rows = this.batchRows.reduce((sum, rows) => sum + rows, 0);
  }

  /** Counts the whole lines of the file. @throws the system's error when it is not there */
  static async of(path: string, size: number): Promise<LineIndex> {
    const file = await open(path, 'r');
    try {
      const counter = new LineCounter();
      const bytes = Buffer.allocUnsafe(PIECE_BYTES);
      for (let at = 0; at < size;) {
        const { bytesRead } = await file.read(bytes, 0, Math.min(PIECE_BYTES, size - at), at);
        if (bytesRead === 0) break;
        counter.take(bytes.subarray(0, bytesRead), at);
        at += bytesRead;
      }
      return new LineIndex(path, counter.end());
    } finally {
      await file.close();
    }
  }

  /** The records of a batch. @throws RecordFault for a line that is none */
  async records(index: number): Promise<readonly LoggedRecord[]> {
    const { start, end } = this.#stretches[index]!;
    const file = await open(this.#path, 'r');
    try {
      const bytes = Buffer.alloc(end - start);
      await file.read(bytes, 0, bytes.length, start);
      return bytes.toString().split('\n').slice(0, -1).map(decodeRecord);
    } finally {
      await file.close();
    }
  }
}

class LineCounter {
  readonly #stretches: Stretch[] = [];
  #start = 0;
  #end = 0;
  #rows = 0;

  take(bytes: Buffer, at: number): void {
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, end + 1)) {
      this.#end = at + end + 1;
      this.#rows += 1;
      if (this.#rows === BATCH_ROWS) this.#cut();
    }
  }

  end(): readonly Stretch[] {
    if (this.#rows > 0) this.#cut();
    return this.#stretches;
  }

  #cut(): void {
    this.#stretches.push({ start: this.#start, end: this.#end, rows: this.#rows });
    this.#start = this.#end;
    this.#rows = 0;
  }
}
