import type { Socket } from 'node:net';

/** Bytes before a frame: the lengths of its message and of its bytes, as unsigned 32-bit numbers. */
const HEADER_BYTES = 8;

/** Greatest size of a part of a frame in bytes, unless its reader says less. */
const MAX_PART_BYTES = 2 ** 30;

interface FrameReaderOptions {
  /** Greatest size of the message of a frame, and of its bytes. */
  readonly maxPart?: number;
  /** Gives memory for the bytes of a frame; memory of their own unless given. */
  readonly memory?: (bytes: number) => Buffer;
}

/** Bytes of a frame that are copied into one write with its message: each write costs more than such a copy. */
const COPIED_BYTES = 2 ** 16;

/** Size of the memory for reads of what is not known to be long. */
const SCRATCH_BYTES = 2 ** 14;

const ownMemory = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes);

/** Sends a message with its bytes, which may be in parts, in one call of the system with the others of this turn. */
export function sendFrame(socket: Socket, message: object, ...parts: readonly Uint8Array[]): void {
  if (socket.destroyed) return;
  const text = Buffer.from(JSON.stringify(message));
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(text.length, 0);
  header.writeUInt32LE(bytes, 4);
  socket.cork();
  const isCopied = bytes < COPIED_BYTES;
  socket.write(Buffer.concat([header, text, ...(isCopied ? parts : [])]));
  if (!isCopied) for (const part of parts) socket.write(part);
  process.nextTick(() => socket.uncork());
}

/** Takes a message with its bytes. */
type OnFrame<Message> = (message: Message, bytes: Uint8Array) => void;

/** A part of a frame that is arriving: its lengths, its message, or its bytes. */
interface Section {
  readonly memory: Buffer;
  filled: number;
  /** Called when all of it is there. Returns the next one. */
  readonly complete: (memory: Buffer) => Section;
}

/** Splits the bytes of a socket into frames. */
export class FrameReader<Message> {
  readonly #onFrame: OnFrame<Message>;
  readonly #maxPart: number;
  readonly #memory: (bytes: number) => Buffer;
  readonly #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  #section: Section;

  constructor(
    onFrame: OnFrame<Message>,
    { maxPart = MAX_PART_BYTES, memory = ownMemory }: FrameReaderOptions = {},
  ) {
    this.#onFrame = onFrame;
    this.#maxPart = maxPart;
    this.#memory = memory;
    this.#section = this.#header();
  }

  /**
   * Memory for the next read, whose bytes `add` takes before the next call. Long messages and bytes are read
   * to where they stay, so that they are not copied.
   */
  room(): Uint8Array {
    const { memory, filled } = this.#section;
    return memory.byteLength - filled > SCRATCH_BYTES ? memory.subarray(filled) : this.#scratch;
  }

  /** Takes bytes, which may lie in the room. @throws Error for bytes that are no frame. */
  add(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.byteLength > 0) {
      const section = this.#section;
      const part = rest.subarray(0, section.memory.byteLength - section.filled);
      if (!isInPlace(part, section)) section.memory.set(part, section.filled);
      section.filled += part.byteLength;
      rest = rest.subarray(part.byteLength);
      this.#advance();
    }
  }

  #advance(): void {
    while (this.#section.filled === this.#section.memory.byteLength) {
      const { memory, complete } = this.#section;
      this.#section = complete(memory);
    }
  }

  #header(): Section {
    return sectionIn(Buffer.allocUnsafeSlow(HEADER_BYTES), (header) => {
      const { text, bytes } = lengthsOf(header, this.#maxPart);
      return this.#message(text, bytes);
    });
  }

  #message(length: number, bytes: number): Section {
    return sectionIn(Buffer.allocUnsafeSlow(length), (text) => {
      const message = JSON.parse(text.toString()) as Message;
      return sectionIn(this.#memory(bytes), (all) => {
        this.#onFrame(message, all);
        return this.#header();
      });
    });
  }
}

function sectionIn(memory: Buffer, complete: Section['complete']): Section {
  return { memory, filled: 0, complete };
}

function isInPlace({ buffer, byteOffset }: Uint8Array, { memory, filled }: Section): boolean {
  return buffer === memory.buffer && byteOffset === memory.byteOffset + filled;
}

function lengthsOf(
  header: Buffer,
  maxPart: number,
): { readonly text: number; readonly bytes: number } {
  const [text, bytes] = [header.readUInt32LE(0), header.readUInt32LE(4)];
  if (Math.max(text, bytes) <= maxPart) return { text, bytes };
  throw new Error('the bytes of the other process are no frame');
}
