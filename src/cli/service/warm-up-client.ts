import { connect, type Socket } from 'node:net';
import type { WarmUpRequest } from './warm-up-requests.ts';

const HEAD_END = '\r\n\r\n';
const CHUNKS_END = Buffer.from('\r\n0\r\n\r\n');
const CHUNKED = /^transfer-encoding: *chunked/im;
const LENGTH = /^content-length: *(\d+)/im;
const STATUS_AT = 9;

/** A connection over a Unix socket, for one request at a time. It does little, since only the server is to be warmed up. */
export class WarmUpClient {
  readonly #socket: Socket;
  readonly #key: string;
  readonly #onAbort = (): void => void this.#socket.destroy(new Error('the warm-up was ended'));
  readonly #signal: AbortSignal;
  #answer = new Answer();
  #waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  /** @param path Of the socket. */
  constructor(path: string, key: string, signal: AbortSignal) {
    this.#key = key;
    this.#signal = signal;
    this.#socket = connect(path);
    this.#socket.on('data', (bytes) => this.#receive(bytes));
    this.#socket.on('error', (error) => this.#waiting?.reject(error));
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the connection was closed')));
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Resolves once the answer was received. @throws Error for an answer that is no success, and for a lost connection */
  async ask({ path, type, body }: WarmUpRequest): Promise<void> {
    this.#answer = new Answer();
    const answered = new Promise<void>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    this.#socket.write(
      Buffer.concat([
        Buffer.from(
          `POST ${path} HTTP/1.1\r\nhost: warm-up\r\nx-api-key: ${this.#key}\r\ncontent-type: ${type}\r\n` +
            `transfer-encoding: chunked\r\n\r\n${body.byteLength.toString(16)}\r\n`,
        ),
        body,
        CHUNKS_END,
      ]),
    );
    await answered;
    if (!this.#answer.isSuccess) throw new Error(`${path}: ${this.#answer.head}`);
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    this.#answer.add(bytes);
    if (this.#answer.isWhole) this.#waiting?.resolve();
  }
}

/** The bytes of an answer, as far as they came: enough to know where it ends. */
class Answer {
  head = '';
  #left = 0;
  #isChunked = false;
  #tail = Buffer.alloc(0);

  get isWhole(): boolean {
    if (this.head === '') return false;
    return this.#isChunked ? this.#tail.equals(CHUNKS_END) : this.#left <= 0;
  }

  get isSuccess(): boolean {
    return this.head.startsWith('2', STATUS_AT);
  }

  add(bytes: Buffer): void {
    const body = this.head === '' ? this.#begin(bytes) : bytes;
    this.#left -= body.byteLength;
    if (this.#isChunked) {
      const end = body.subarray(-CHUNKS_END.byteLength);
      this.#tail = Buffer.concat([this.#tail, end]).subarray(-CHUNKS_END.byteLength);
    }
  }

  /** The server sends the head of an answer in one piece. Returns what follows it. */
  #begin(bytes: Buffer): Buffer {
    const end = bytes.indexOf(HEAD_END);
    this.head = bytes.toString('latin1', 0, end);
    this.#isChunked = CHUNKED.test(this.head);
    this.#left = Number(LENGTH.exec(this.head)?.[1] ?? 0);
    return bytes.subarray(end + HEAD_END.length);
  }
}
