import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import type { WarmUpRequest } from './warm-up-requests.ts';

/** A connection over a Unix socket, for one request at a time. */
export class WarmUpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #path: string;
  readonly #key: string;
  readonly #signal: AbortSignal;

  /** @param path Of the socket. */
  constructor(path: string, key: string, signal: AbortSignal) {
    this.#path = path;
    this.#key = key;
    this.#signal = signal;
  }

  /** Resolves once the answer was received. @throws Error for an answer that is no success, and for a lost connection */
  async ask({ path, type, body }: WarmUpRequest): Promise<void> {
    const sent = request({
      socketPath: this.#path,
      path,
      method: 'POST',
      agent: this.#agent,
      signal: this.#signal,
      headers: { 'x-api-key': this.#key, 'content-type': type },
    });
    const answered = once(sent, 'response');
    // In chunks, as clients send streams.
    sent.write(body);
    sent.end();
    const [answer] = (await answered) as [IncomingMessage];
    const ended = once(answer, 'end');
    answer.resume();
    await ended;
    const { statusCode = 0 } = answer;
    if (statusCode < 200 || statusCode >= 300) throw new Error(`${path}: ${statusCode}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}
