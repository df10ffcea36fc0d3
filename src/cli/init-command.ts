import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { Run } from './output/output.ts';
import { settings } from './config/config-table.ts';
import { UsageError } from './output/service-error.ts';
import { errorCode } from '../storage/storage-error.ts';

const POLICIES = fileURLToPath(new URL('../../policies/', import.meta.url));
/** The files of a small company. */
const TEMPLATE = join(POLICIES, 'company');
const MODEL = 'model.conf';
const CONFIG = 'arrowgate.yaml';
/** Entries of a folder that can be served. */
const SERVED = [CONFIG, 'policies', 'data'];

/** `arrowgate init`. */
export function addInit(program: Command, run: Run): void {
  program
    .command('init')
    .argument('<dir>', 'a folder that is empty, or does not exist yet')
    .description('make a folder that starts at once, with policies')
    .option('--json', 'print JSON')
    .action(async (dir: string, flags: { readonly json?: boolean }) => {
      const folder = resolve(dir);
      const files = await initialise(folder);
      const next = nextCommands(dir, process.argv[1] ?? 'arrowgate');
      const lines = [
        `${folder} has ${files.join(', ')}`,
        'next:',
        ...next.map((line) => `  ${line}`),
        consoleHint(dir),
      ];
      const json = flags.json === true;
      run.output.line(json ? JSON.stringify({ folder, files, next }) : lines.join('\n'));
    });
}

/** @throws UsageError for a folder with files, which stay as they are */
async function initialise(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    if (errorCode(error) === 'ENOTDIR') throw new UsageError(`${folder} is a file: name a folder`);
    throw error;
  });
  if (found.length > 0) {
    throw new UsageError(`${folder} is not empty: name a folder that does not exist yet`);
  }
  await mkdir(folder, { recursive: true });
  await cp(TEMPLATE, folder, { recursive: true });
  await cp(join(POLICIES, MODEL), join(folder, 'policies', MODEL));
  const made = await readdir(folder, { recursive: true, withFileTypes: true });
  return made
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

/**
 * Finds the folder that `arrowgate init` made below the current one. Returns undefined if there are several, if its
 * configuration was changed, or if the current folder can be served itself.
 */
export async function madeFolder(): Promise<string | undefined> {
  const entries = await readdir('.', { withFileTypes: true });
  if (entries.some(({ name }) => SERVED.includes(name))) return undefined;
  const template = await readFile(join(TEMPLATE, CONFIG));
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const made: string[] = [];
  for (const name of folders) if (await holds(join(name, CONFIG), template)) made.push(name);
  return made.length === 1 ? made[0] : undefined;
}

async function holds(file: string, bytes: Buffer): Promise<boolean> {
  try {
    const { size } = await stat(file);
    return size === bytes.length && bytes.equals(await readFile(file));
  } catch {
    return false;
  }
}

/** Where to look at what happened, once it serves. */
function consoleHint(dir: string): string {
  const url = `http://${settings['listen.host'].default}:${settings['listen.port'].default}`;
  return `then open ${url}/console/ and sign in with the key in ${join(dir, 'data/private/initial-admin-key')}`;
}

/** The commands that follow. @param program Path by which this program was started. */
function nextCommands(dir: string, program: string): readonly string[] {
  const name = basename(program) === 'arrowgate' ? 'arrowgate' : `node ${resolve(program)}`;
  const isCached = program.includes('/_npx/') || program.includes('node_modules/.bin/');
  const command = isCached ? 'npx arrowgate' : name;
  return [
    `cd ${dir} && ${command} serve`,
    `ARROWGATE_KEY=$(${command} keys create --subject alice) node example.mjs   # in ${dir}, in another terminal`,
    `${command} audit search --decision deny   # in ${dir}`,
  ];
}
