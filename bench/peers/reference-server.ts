import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { diskFiles, type ClientFiles } from '../../test/support/client-files.ts';
import { pythonWithClients } from '../../test/support/client-packages.ts';

const PROGRAM = fileURLToPath(new URL('reference-server.py', import.meta.url));

/** The files of its tables, whose locations are URIs. */
export const referenceFiles: ClientFiles = {
  ...diskFiles,
  keyOf: (location) => diskFiles.keyOf(location.replace('file://', '')),
};

/** The REST server of the Lance namespace in pylance, on a folder of its own. It flushes nothing to the disk. */
export class ReferenceServer {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(port: string, child: ChildProcess, folder: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#child = child;
    this.#folder = folder;
  }

  static async start(): Promise<ReferenceServer> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-reference-'));
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    const child = spawn(await pythonWithClients(), [PROGRAM, folder], { stdio: [...stdio] });
    for await (const port of createInterface({ input: child.stdout }))
      return new ReferenceServer(port, child, folder);
    throw new Error('the reference server of pylance did not start');
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
