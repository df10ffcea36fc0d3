import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SCOPE = '@lancedb';

/** The folder of the installed Lance library. */
export const libraryFolder = join(ROOT, 'node_modules', SCOPE, 'lancedb');

/**
 * A copy of the built program with another Lance library in the place of the installed one.
 * @param main The main module of that library, in CommonJS; none is there when absent.
 * @returns The folder of the copy.
 */
export async function rootWithLibrary(main?: string): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'arrowgate-bare-'));
  for (const name of ['dist', 'policies', 'package.json']) {
    await cp(join(ROOT, name), join(root, name), { recursive: true });
  }
  const modules = join(root, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== SCOPE) await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  if (main === undefined) return root;
  const folder = libraryIn(root);
  await mkdir(folder, { recursive: true });
  const about = { name: `${SCOPE}/lancedb`, version: '0.31.0', main: 'main.cjs' };
  await writeFile(join(folder, 'package.json'), JSON.stringify(about));
  await writeFile(join(folder, 'main.cjs'), main);
  return root;
}

/** The folder of the library in such a copy. */
export function libraryIn(root: string): string {
  return join(root, 'node_modules', SCOPE, 'lancedb');
}
