import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

/** A query that is asked again and again while something else is measured; its answers are thrown away. */
export class Background {
  readonly #send: () => Promise<void>;
  #running: Promise<void> | undefined;
  #stopped = false;

  /** @param url Address of the query. */
  constructor(url: string, key: string, query: object) {
    this.#send = () => discarded(url, key, JSON.stringify(query));
  }

  start(): void {
    this.#stopped = false;
    this.#running = this.#loop();
  }

  /** Resolves when the last answer has come to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) await this.#send();
  }
}

async function discarded(url: string, key: string, body: string): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const outgoing = request(url, { method: 'POST', headers });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (incoming.statusCode !== 200) throw new Error(`a query answered ${incoming.statusCode}`);
  incoming.resume();
  await once(incoming, 'end');
}
