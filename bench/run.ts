// Runs the benchmarks: npm run bench -- [NAME…] [--rounds N] [--quick] [--large] [--warm-disk SIZE] [--minutes N] [--against FOLDER]
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { warmDisk } from './harness/disk.ts';
import { flagsOf, readOptions } from './harness/options.ts';
import { peer } from './harness/lancedb-peer.ts';
import { systemLines } from './harness/system.ts';

/** The questions, in the order in which they are asked; each is a file of this folder. */
const QUESTIONS = [
  'data',
  'busy',
  'commit',
  'decide',
  'forward',
  'gateway',
  'cores',
  'audit',
  'console',
  'list',
  'restrict',
  'checks',
  'index',
  'growth',
  'lance',
  'scale',
  'bucket',
];
/** What is asked when it is named alone: one installs its peers, and the other one takes long. */
const BY_NAME = ['peers', 'aged'];
/** Further flags of a question: rows of Lance tables are read by the same library on both sides. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  lance: ['--own-peer'],
  bucket: ['--own-peer'],
};
/** Those that compare two builds too. */
const OF_BUILDS = ['gateway', 'forward', 'data', 'commit', 'index', 'audit', 'lance'];
/** What compares them itself, when it is named. */
const WITH_OLD = ['aged'];

const options = readOptions();
const { against } = options;
const asked = against === undefined ? QUESTIONS : OF_BUILDS;
const known = against === undefined ? [...QUESTIONS, ...BY_NAME] : [...OF_BUILDS, ...WITH_OLD];
const unknown = options.names.find((name) => !known.includes(name));
if (unknown !== undefined) {
  const flag = against === undefined ? '' : ' with --against';
  throw new Error(`there is no benchmark "${unknown}"${flag}; there are ${known.join(', ')}`);
}
const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
const heading = [...systemLines(command), ...sideLines()];
process.stdout.write(`${heading.join('\n')}\n\n`);
await warmDisk(options.warmDisk);
// As it is where nobody sets it; the tests' services are cold.
process.env['ARROWGATE_WARM_UP'] ??= 'true';
for (const name of options.names.length > 0 ? options.names : asked) {
  process.exitCode = (await ask(name)) || process.exitCode;
}

/** What is compared. @throws Error when the other checkout has no build. */
function sideLines(): readonly string[] {
  if (against === undefined) return [`- peer: ${peer.version.name} ${peer.version.version}`];
  if (!existsSync(join(against, 'dist/cli/main.js'))) {
    throw new Error(`${against} has no build; run "npm run setup" there`);
  }
  const root = fileURLToPath(new URL('..', import.meta.url));
  return [`- old: commit ${commitOf(against)}`, `- new: commit ${commitOf(root)}`];
}

function commitOf(folder: string): string {
  const describe = ['-C', folder, 'describe', '--always', '--dirty'];
  try {
    return execFileSync('git', describe, { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

/** Each question has a process of its own, so that none leaves anything to the next. */
async function ask(name: string): Promise<number> {
  const isOwn = against === undefined || WITH_OLD.includes(name);
  const file = isOwn ? `./${name}.ts` : './builds.ts';
  const names = isOwn ? [] : [name];
  const flags = [...flagsOf(options), ...(FLAGS[name] ?? [])];
  const child = fork(new URL(file, import.meta.url), [...flags, ...names]);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
