import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

interface Received {
  readonly status: number;
  readonly bytes: Uint8Array;
}

/**
 * Has large answers received by a thread, as clients that are not bound to one do. In a
 * process that holds much memory the many small buffers of a large answer make the garbage
 * collector look at everything again and again; a thread has little to look at.
 */
export class Receiver {
  #worker: Worker | undefined;

  /** @throws Error for every answer but one of success. One may be in progress at a time. */
  async ask(url: string, key: string, body: object): Promise<Uint8Array> {
    this.#worker ??= new Worker(new URL('./receiving-thread.mjs', import.meta.url), {
      execArgv: [],
    });
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    this.#worker.postMessage({ url, headers, body: JSON.stringify(body) }, []);
    const [{ status, bytes }] = (await once(this.#worker, 'message')) as [Received];
    if (status === 200) return bytes;
    throw new Error(`POST ${url}: ${status} ${Buffer.from(bytes).toString('utf8', 0, 500)}`);
  }

  close(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}
