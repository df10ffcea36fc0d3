import { Worker } from 'node:worker_threads';

/** One run of a module on a thread of its own. */
interface ThreadRun {
  readonly module: URL;
  /** Becomes `workerData`. */
  readonly data: unknown;
  /** Names the thread in errors. */
  readonly name: string;
  /** Maximum duration, in ms; unbounded if absent. */
  readonly millis?: number;
  readonly signal?: AbortSignal;
}

/**
 * Runs a module on a thread and returns the first message that it posts. The thread ends in any case.
 * @throws the error of the thread; an Error if it ends without a message, or after `millis`, or by the signal.
 */
export async function runOnThread<Result>(run: ThreadRun): Promise<Result> {
  run.signal?.throwIfAborted();
  const worker = new Worker(run.module, { workerData: run.data, stderr: true });
  // The process logs its warnings; a thread's output would be lost.
  worker.stderr.on('data', (text: Buffer) => process.emitWarning(String(text).trim()));
  const ending = new AbortController();
  try {
    return await new Promise<Result>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`${run.name} ${why}`));
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => fail(`ended with ${code}`));
      onAbort(run.signal, () => fail('was stopped'), ending.signal);
      if (run.millis !== undefined) {
        const timer = setTimeout(() => fail(`took longer than ${run.millis} ms`), run.millis);
        ending.signal.addEventListener('abort', () => clearTimeout(timer));
      }
    });
  } finally {
    ending.abort();
    await worker.terminate();
  }
}

function onAbort(signal: AbortSignal | undefined, call: () => void, until: AbortSignal): void {
  signal?.addEventListener('abort', call, { once: true, signal: until });
}
