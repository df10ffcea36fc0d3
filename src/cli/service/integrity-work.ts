import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { IntegrityWork } from '../../console/integrity.ts';
import type { Config } from '../config/config-table.ts';
import { folderArchive } from '../output/folder-archive.ts';

const THREAD = new URL('../../../dist/cli/audit/integrity-thread.js', import.meta.url);
/** Memory of the thread, in MiB. */
const THREAD_MEMORY = 1024;

/** What a thread says; see `integrity-thread.ts`. */
type ThreadMessage =
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'done'; readonly result: string };

interface Watched {
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

/** Verifications and evidence of the console, each on a thread of its own that ends with its signal. */
export function integrityWork(config: Config): IntegrityWork {
  return {
    verify: (signal, progress) => onThread({ kind: 'verify', config }, { signal, progress }),
    evidence: (signal, period) => evidenceArchive(config, signal, period),
  };
}

/** The folder is made below the system's folder for temporary files, and removed when it is sent. */
async function* evidenceArchive(
  config: Config,
  signal: AbortSignal,
  period: Parameters<IntegrityWork['evidence']>[1],
): AsyncGenerator<Uint8Array> {
  const temporary = await mkdtemp(join(tmpdir(), 'arrowgate-evidence-'));
  try {
    const folder = join(temporary, 'evidence');
    const task = { kind: 'evidence', config, folder, ...period };
    await onThread(task, { signal, progress: () => undefined });
    yield* folderArchive(folder, 'evidence');
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function onThread(task: object, { signal, progress }: Watched): Promise<string> {
  signal.throwIfAborted();
  const resourceLimits = { maxOldGenerationSizeMb: THREAD_MEMORY };
  const worker = new Worker(THREAD, { workerData: task, stderr: true, resourceLimits });
  return new Promise<string>((resolve, reject) => {
    const stop = (): void => {
      reject(new Error('it was stopped'));
      void worker.terminate();
    };
    signal.addEventListener('abort', stop, { once: true });
    worker.on('message', (message: ThreadMessage) => {
      if (message.kind === 'progress') progress(message.text);
      else resolve(message.result);
    });
    worker.once('error', reject);
    worker.once('exit', (code) => {
      signal.removeEventListener('abort', stop);
      reject(new Error(`its thread ended with ${code}`));
    });
  });
}
