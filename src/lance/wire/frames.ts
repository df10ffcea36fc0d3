import type { Socket } from 'node:net';

/** Bytes before a frame: the lengths of its message and of its bytes, as unsigned 32-bit numbers. */
const HEADER_BYTES = 8;

/** Greatest size of a part of a frame in bytes, unless its reader says less. */
const MAX_PART_BYTES = 2 ** 30;

const NOTHING = new Uint8Array(0);

/** Sends a message with its bytes, in one call of the system with the others of this turn. */
export function sendFrame(socket: Socket, message: object, bytes: Uint8Array = NOTHING): void {
  if (socket.destroyed) return;
  const text = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(text.length, 0);
  header.writeUInt32LE(bytes.byteLength, 4);
  socket.cork();
  socket.write(Buffer.concat([header, text]));
  if (bytes.byteLength > 0) socket.write(bytes);
  process.nextTick(() => socket.uncork());
}

/** Takes a message with its bytes, which are in as many parts as they arrived in. */
type OnFrame<Message> = (message: Message, parts: readonly Uint8Array[]) => void;

interface BegunFrame<Message> {
  readonly message: Message;
  readonly parts: Uint8Array[];
  /** Bytes that have not arrived. */
  missing: number;
}

/** Splits the bytes of a socket into frames. The bytes of messages are not copied. */
export class FrameReader<Message> {
  readonly #onFrame: OnFrame<Message>;
  readonly #maxPart: number;
  /** What arrived of the lengths and of the message. */
  #head: Uint8Array[] = [];
  #length = 0;
  /** Bytes of both, as far as that is known. */
  #needed = HEADER_BYTES;
  /** A message whose bytes are arriving. */
  #begun: BegunFrame<Message> | undefined;

  /** @param maxPart Greatest size of the message of a frame, and of its bytes. */
  constructor(onFrame: OnFrame<Message>, maxPart = MAX_PART_BYTES) {
    this.#onFrame = onFrame;
    this.#maxPart = maxPart;
  }

  /** @throws Error for bytes that are no frame. */
  add(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.byteLength > 0) {
      rest = this.#begun === undefined ? this.#addHead(rest) : this.#addBytes(rest, this.#begun);
    }
  }

  /** @returns What follows the message. */
  #addHead(chunk: Uint8Array): Uint8Array {
    this.#head.push(chunk);
    this.#length += chunk.byteLength;
    if (this.#length < this.#needed) return NOTHING;
    const all = this.#head.length === 1 ? chunk : Buffer.concat(this.#head, this.#length);
    const { text, bytes } = lengthsOf(all, this.#maxPart);
    const needed = HEADER_BYTES + text;
    const isWhole = all.byteLength >= needed;
    this.#head = isWhole ? [] : [all];
    this.#length = isWhole ? 0 : all.byteLength;
    this.#needed = isWhole ? HEADER_BYTES : needed;
    if (!isWhole) return NOTHING;
    const json = Buffer.from(all.buffer, all.byteOffset + HEADER_BYTES, text).toString();
    this.#begun = { message: JSON.parse(json) as Message, parts: [], missing: bytes };
    return this.#addBytes(all.subarray(needed), this.#begun);
  }

  /** @returns What follows the frame. */
  #addBytes(chunk: Uint8Array, begun: BegunFrame<Message>): Uint8Array {
    const part = chunk.subarray(0, begun.missing);
    if (part.byteLength > 0) addPart(begun.parts, part);
    begun.missing -= part.byteLength;
    if (begun.missing === 0) {
      this.#begun = undefined;
      this.#onFrame(begun.message, begun.parts);
    }
    return chunk.subarray(part.byteLength);
  }
}

/** Adds bytes, to those before if they lie behind them. */
function addPart(parts: Uint8Array[], part: Uint8Array): void {
  const last = parts.at(-1);
  const isNext =
    last?.buffer === part.buffer && last.byteOffset + last.byteLength === part.byteOffset;
  if (!isNext) parts.push(part);
  else {
    const length = last.byteLength + part.byteLength;
    parts[parts.length - 1] = new Uint8Array(last.buffer, last.byteOffset, length);
  }
}

function lengthsOf(
  header: Uint8Array,
  maxPart: number,
): { readonly text: number; readonly bytes: number } {
  const view = new DataView(header.buffer, header.byteOffset, HEADER_BYTES);
  const [text, bytes] = [view.getUint32(0, true), view.getUint32(4, true)];
  if (Math.max(text, bytes) <= maxPart) return { text, bytes };
  throw new Error('the bytes of the other process are no frame');
}
