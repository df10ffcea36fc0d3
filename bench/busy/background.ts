import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

/** A query, as it is sent. */
export interface Asked {
  readonly url: string;
  readonly key: string;
  readonly query: object;
}

/** Asks a query and throws its answer away. @throws Error when it is refused. */
export type Asker = (asked: Asked) => Promise<void>;

/** A query that is asked again and again while something else is measured. */
export class Background {
  readonly #ask: () => Promise<void>;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(ask: Asker, asked: Asked) {
    this.#ask = () => ask(asked);
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
    while (!this.#stopped) await this.#ask();
  }
}

/** By a program that hardly needs the processor itself. */
export async function askCurl({ url, key, query }: Asked): Promise<void> {
  const headers = [`x-api-key: ${key}`, 'content-type: application/json'];
  const args = ['--silent', '--fail', '--output', '/dev/null', '--data', JSON.stringify(query)];
  const curl = spawn('curl', [...args, ...headers.flatMap((header) => ['--header', header]), url]);
  const [code] = await once(curl, 'exit');
  if (code !== 0) throw new Error(`curl ended with ${code}`);
}

/** By the process that measures, which works hard at collecting the buffers that come. */
export async function askNode({ url, key, query }: Asked): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const outgoing = request(url, { method: 'POST', headers });
  outgoing.end(JSON.stringify(query));
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (incoming.statusCode !== 200) throw new Error(`a query answered ${incoming.statusCode}`);
  incoming.resume();
  await once(incoming, 'end');
}
