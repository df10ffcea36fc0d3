// Runs the benchmarks: npm run bench [NAME…] -- [--rounds N] [--quick] [--warm-disk SIZE]
import { fork } from 'node:child_process';
import { once } from 'node:events';
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
  'audit',
  'list',
  'index',
];

const options = readOptions();
const unknown = options.names.find((name) => !QUESTIONS.includes(name));
if (unknown !== undefined) {
  throw new Error(`there is no benchmark "${unknown}"; there are ${QUESTIONS.join(', ')}`);
}
const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
const { name, version } = peer.version;
process.stdout.write(`${systemLines(command).join('\n')}\n- peer: ${name} ${version}\n\n`);
await warmDisk(options.warmDisk);
for (const name of options.names.length > 0 ? options.names : QUESTIONS) {
  process.exitCode = (await ask(name)) || process.exitCode;
}

/** Each question has a process of its own, so that none leaves anything to the next. */
async function ask(name: string): Promise<number> {
  const child = fork(new URL(`./${name}.ts`, import.meta.url), [...flagsOf(options)]);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
