import type { Data } from 'apache-arrow';
import { bytesOf, isMarkedNull, isNull, nullCountOf, wordsOf } from './data.ts';
import { copyRun } from './gather.ts';
import { inlineCapacity } from './layout.ts';

/** Bytes of one data buffer that is written anew. */
const bufferBytes = 67_108_864;

/** Views and the data buffers they lead into. */
export interface ViewParts {
  readonly values: Uint8Array;
  readonly variadic: Uint8Array[];
}

/** Some rows of a view column over data buffers that hold these rows alone; null rows get empty views. */
export function takeViews(data: Data, rows: Uint32Array): ViewParts {
  const source = wordsOf(data.values);
  const target = new Uint32Array(4 * rows.length);
  const nulls = nullCountOf(data) > 0;
  const writer = new ViewWriter();
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    if (nulls && isMarkedNull(data, row)) continue;
    for (let word = 0; word < 4; word++) target[4 * index + word] = source[4 * row + word]!;
    if (source[4 * row]! > inlineCapacity) writer.move(data, target, 4 * index);
  }
  return { values: bytesOf(target), variadic: writer.finish() };
}

/** The bytes of long values that some rows of a view column lead to, doubles counted each time. */
export function viewBytes(data: Data): number {
  const words = wordsOf(data.values);
  let total = 0;
  for (let row = 0; row < data.length; row++) {
    const length = words[4 * row]!;
    if (length > inlineCapacity && !isNull(data, row)) total += length;
  }
  return total;
}

/** Copies long values into new data buffers and points their views there. */
class ViewWriter {
  readonly #full: Uint8Array[] = [];
  #buffer = new Uint8Array(1024);
  #used = 0;

  /** Moves the value of the view whose four words begin at `at`. */
  move(data: Data, words: Uint32Array, at: number): void {
    const length = words[at]!;
    const source = data.variadicBuffers[words[at + 2]!]!;
    this.#reserve(length);
    copyRun(source, words[at + 3]!, this.#buffer, this.#used, length);
    words[at + 2] = this.#full.length;
    words[at + 3] = this.#used;
    this.#used += length;
  }

  finish(): Uint8Array[] {
    if (this.#used > 0) this.#full.push(this.#buffer.subarray(0, this.#used));
    return this.#full;
  }

  #reserve(length: number): void {
    const needed = this.#used + length;
    if (needed <= this.#buffer.length) return;
    if (this.#used > 0 && needed > bufferBytes) {
      this.#full.push(this.#buffer.subarray(0, this.#used));
      this.#used = 0;
      this.#buffer = new Uint8Array(Math.max(length, bufferBytes));
      return;
    }
    const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.length));
    larger.set(this.#buffer.subarray(0, this.#used));
    this.#buffer = larger;
  }
}
