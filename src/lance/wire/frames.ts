import type { Socket } from 'node:net';

/** Bytes before a frame: the lengths of its message and of its bytes, as unsigned 32-bit numbers. */
const HEADER_BYTES = 8;

/** Greatest size of a part of a frame in bytes, unless its reader says less. */
const MAX_PART_BYTES = 2 ** 30;

const NOTHING = new Uint8Array(0);

/** Sends a message with its bytes. Returns false while the socket should get no more. */
export function sendFrame(socket: Socket, message: object, bytes: Uint8Array = NOTHING): boolean {
  if (socket.destroyed) return false;
  const text = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(text.length, 0);
  header.writeUInt32LE(bytes.byteLength, 4);
  socket.cork();
  socket.write(Buffer.concat([header, text]));
  const takesMore = bytes.byteLength === 0 || socket.write(bytes);
  socket.uncork();
  return takesMore;
}

type OnFrame<Message> = (message: Message, bytes: Uint8Array) => void;

/** Splits the bytes of a socket into frames. */
export class FrameReader<Message> {
  readonly #onFrame: OnFrame<Message>;
  readonly #maxPart: number;
  #chunks: Uint8Array[] = [];
  #length = 0;
  /** Bytes that are needed before the next step: a header, or a whole frame. */
  #needed = HEADER_BYTES;

  /** @param maxPart Greatest size of the message of a frame, and of its bytes. */
  constructor(onFrame: OnFrame<Message>, maxPart = MAX_PART_BYTES) {
    this.#onFrame = onFrame;
    this.#maxPart = maxPart;
  }

  /** @throws Error for bytes that are no frame. */
  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    if (this.#length < this.#needed) return;
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#length);
    while (bytes.byteLength >= (this.#needed = neededOf(bytes, this.#maxPart))) {
      const frame = bytes.subarray(0, this.#needed);
      bytes = bytes.subarray(this.#needed);
      this.#pass(frame);
    }
    this.#chunks = [bytes];
    this.#length = bytes.byteLength;
  }

  #pass(frame: Uint8Array): void {
    const start = HEADER_BYTES + viewOf(frame).getUint32(0, true);
    const text = Buffer.from(frame.buffer, frame.byteOffset, start).toString('utf8', HEADER_BYTES);
    this.#onFrame(JSON.parse(text) as Message, frame.subarray(start));
  }
}

function neededOf(bytes: Uint8Array, maxPart: number): number {
  if (bytes.byteLength < HEADER_BYTES) return HEADER_BYTES;
  const view = viewOf(bytes);
  const [text, rest] = [view.getUint32(0, true), view.getUint32(4, true)];
  if (Math.max(text, rest) <= maxPart) return HEADER_BYTES + text + rest;
  throw new Error('the bytes of the other process are no frame');
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
