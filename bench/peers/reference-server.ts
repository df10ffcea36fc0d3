import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diskFiles, type ClientFiles } from '../../test/support/client-files.ts';
import { pythonWithClients } from '../../test/support/client-packages.ts';
import { startServer, type ChildServer } from '../harness/child-server.ts';

const PROGRAM = fileURLToPath(new URL('reference-server.py', import.meta.url));

/** The files of its tables, whose locations are URIs. */
export const referenceFiles: ClientFiles = {
  ...diskFiles,
  keyOf: (location) => diskFiles.keyOf(location.replace('file://', '')),
};

/** Starts the REST server of the Lance namespace in pylance, on a folder of its own. It flushes nothing to the disk. */
export async function startReference(): Promise<ChildServer> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-reference-'));
  const server = await startServer(await pythonWithClients(), [PROGRAM, folder]);
  return {
    ...server,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
