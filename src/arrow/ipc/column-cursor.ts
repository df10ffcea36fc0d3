import type { Vector } from 'apache-arrow';
import { bitmapBytes, countBits } from '../bitmap.ts';
import { ArrowError, corrupt } from '../arrow-error.ts';
import type { BatchHeader } from './message.ts';

/** One node of a batch: a column or nested column (Message.fbs, `FieldNode`). */
export interface ColumnNode {
  readonly length: number;
  readonly nullCount: number;
}

/** The rows of a node and which of them are null. */
interface NodeNulls {
  readonly length: number;
  readonly nullCount: number;
  readonly validity: Uint8Array | undefined;
}

/** Start of reading in the three lists of a batch. */
interface CursorStart {
  readonly node: number;
  readonly buffer: number;
  readonly variadic: number;
}

/** The largest number of rows of one column. */
const maxRows = 2_147_483_647;

/**
 * Hands out a batch's nodes and buffers in depth-first order, as the format
 * lays them out. Buffers of columns that are not read may be missing.
 */
export class ColumnCursor {
  readonly #header: BatchHeader;
  readonly #buffers: readonly (Uint8Array | undefined)[];
  readonly #dictionary: (typeId: number, name: string) => Vector;
  readonly #mostRows: number;
  #node: number;
  #buffer: number;
  #variadic: number;

  constructor(options: {
    readonly header: BatchHeader;
    readonly buffers: readonly (Uint8Array | undefined)[];
    /** The dictionary of a dictionary type, by the type's id. */
    readonly dictionary: (typeId: number, name: string) => Vector;
    readonly start?: CursorStart;
    /** Rows beyond which a column is refused. */
    readonly mostRows?: number;
  }) {
    this.#header = options.header;
    this.#buffers = options.buffers;
    this.#dictionary = options.dictionary;
    this.#mostRows = Math.min(options.mostRows ?? maxRows, maxRows);
    this.#node = options.start?.node ?? 0;
    this.#buffer = options.start?.buffer ?? 0;
    this.#variadic = options.start?.variadic ?? 0;
  }

  get unionBitmaps(): boolean {
    return this.#header.unionBitmaps;
  }

  node(name: string): ColumnNode {
    const at = 2 * this.#node++;
    const { nodes } = this.#header;
    const length = nodes[at];
    const nullCount = nodes[at + 1];
    if (length === undefined || nullCount === undefined) {
      throw corrupt(`The message has no node for column "${name}".`);
    }
    if (length < 0 || nullCount < -1 || nullCount > length) {
      throw corrupt(`Column "${name}" declares ${length} rows and ${nullCount} nulls.`);
    }
    if (length > this.#mostRows) {
      const most = `${this.#mostRows} are allowed for its bytes`;
      throw new ArrowError('limit', `Column "${name}" declares ${length} rows, ${most}.`);
    }
    return { length, nullCount };
  }

  /** The next buffer, which must have at least `bytes` bytes. */
  buffer(bytes: number, name: string): Uint8Array {
    const buffer = this.#buffers[this.#buffer++];
    if (buffer === undefined) throw corrupt(`The message has no buffer for column "${name}".`);
    if (buffer.length < bytes) {
      throw corrupt(`A buffer of column "${name}" has ${buffer.length} bytes, it needs ${bytes}.`);
    }
    return buffer;
  }

  /** The first `bytes` bytes of the next buffer, without its padding. */
  exact(bytes: number, name: string): Uint8Array {
    return this.buffer(bytes, name).subarray(0, bytes);
  }

  /**
   * The length of a node with its validity buffer, absent when nothing is
   * null, and the nulls that it counts.
   */
  nulls(node: ColumnNode, name: string): NodeNulls {
    const { length } = node;
    const bits = this.buffer(0, name);
    const bytes = bitmapBytes(length);
    if (bits.length === 0 && node.nullCount <= 0)
      return { length, nullCount: 0, validity: undefined };
    if (bits.length < bytes) {
      throw corrupt(
        `The validity of column "${name}" has ${bits.length} bytes, it needs ${bytes}.`,
      );
    }
    const nullCount = length - countBits(bits, 0, length);
    if (node.nullCount !== -1 && node.nullCount !== nullCount) {
      throw corrupt(
        `Column "${name}" declares ${node.nullCount} nulls, its validity has ${nullCount}.`,
      );
    }
    return { length, nullCount, validity: bits };
  }

  /** The data buffers of a view column. */
  variadic(name: string): Uint8Array[] {
    const count = this.#header.variadic[this.#variadic++];
    if (count === undefined || count < 0 || count > this.#buffers.length) {
      throw corrupt(`The message has no count of data buffers for column "${name}".`);
    }
    return Array.from({ length: count }, () => this.buffer(0, name));
  }

  dictionary(typeId: number, name: string): Vector {
    return this.#dictionary(typeId, name);
  }

  /** Throws `corrupt` unless every node and buffer was read. */
  finish(): void {
    const nodes = this.#header.nodes.length / 2 - this.#node;
    const buffers = this.#buffers.length - this.#buffer;
    if (nodes !== 0 || buffers !== 0) {
      throw corrupt(`A message has ${nodes} nodes and ${buffers} buffers more than its schema.`);
    }
  }
}
