/** Bytes that are no message of the Protocol Buffers encoding. */
export class DamagedMessage extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'DamagedMessage';
  }
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const MOST_VARINT_BYTES = 10;

/**
 * The fields of a message in the Protocol Buffers encoding, by their numbers.
 * What a field means is for whoever reads it; an absent one is zero or empty.
 */
export class Message {
  readonly #numbers = new Map<number, bigint>();
  readonly #bytes = new Map<number, Uint8Array[]>();

  /** @throws DamagedMessage. */
  constructor(bytes: Uint8Array) {
    const cursor = new Cursor(bytes);
    while (!cursor.atEnd) this.#take(cursor);
  }

  /** The last number of a field; negative ones come as they are in 64 bits without sign. */
  number(field: number): bigint {
    return this.#numbers.get(field) ?? 0n;
  }

  /** Whether a number stands in the message, be it zero. */
  hasNumber(field: number): boolean {
    return this.#numbers.has(field);
  }

  /** @throws DamagedMessage for a number that does not fit. */
  count(field: number): number {
    const number = this.number(field);
    if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw new DamagedMessage('a count is too large');
    return Number(number);
  }

  /** @throws DamagedMessage for bytes that are no UTF-8. */
  text(field: number): string {
    return textOf(this.#bytes.get(field)?.at(-1) ?? new Uint8Array());
  }

  /** The messages of a repeated field, or the one of another. */
  messages(field: number): readonly Message[] {
    return (this.#bytes.get(field) ?? []).map((bytes) => new Message(bytes));
  }

  /** A map with keys of text, its values as text too. */
  texts(field: number): ReadonlyMap<string, string> {
    return new Map(this.messages(field).map((entry) => [entry.text(1), entry.text(2)]));
  }

  #take(cursor: Cursor): void {
    const tag = cursor.varint();
    const field = Number(tag >> 3n);
    const kind = Number(tag & 7n);
    if (kind === VARINT) this.#numbers.set(field, cursor.varint());
    else if (kind === BYTES) this.#add(field, cursor.bytes(cursor.varint()));
    else if (kind === FIXED64) cursor.bytes(8n);
    else if (kind === FIXED32) cursor.bytes(4n);
    else throw new DamagedMessage(`a field has the unknown kind ${kind}`);
  }

  #add(field: number, bytes: Uint8Array): void {
    const others = this.#bytes.get(field);
    if (others === undefined) this.#bytes.set(field, [bytes]);
    else others.push(bytes);
  }
}

/** Where in the bytes of a message its reader is. */
class Cursor {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let index = 0; index < MOST_VARINT_BYTES; index++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new DamagedMessage('a message ends within a number');
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new DamagedMessage('a number does not end');
  }

  bytes(length: bigint): Uint8Array {
    const end = BigInt(this.#at) + length;
    if (end > BigInt(this.#bytes.length)) throw new DamagedMessage('a message ends within a field');
    const bytes = this.#bytes.subarray(this.#at, Number(end));
    this.#at = Number(end);
    return bytes;
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new DamagedMessage('a text is not UTF-8');
  }
}
