// Runs the engines that read and write Lance tables against the built program: npm run test:engines [-- FLAGS OF VITEST]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  engineFault,
  engines,
  packagesOf,
  pythonFault,
  pythonWithEngines,
} from '../support/client-packages.ts';

/** Time for the tests, in ms; the installation before them does not count. */
const MAX_MILLIS = 15 * 60_000;

/** A whole guide is one test, and starts its engine. */
const flags = ['--testTimeout', '600000', '--maxWorkers', '2'];

if (pythonFault() === undefined) await pythonWithEngines();

const child = spawn('npx', ['vitest', 'run', 'test/engines/', ...flags, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ARROWGATE_TEST_ENGINES: 'all' },
  timeout: MAX_MILLIS,
});
const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
process.exitCode = code ?? 1;

for (const engine of engines) {
  const fault = engineFault(engine);
  const said = fault === undefined ? 'ran' : `NOT TESTED, because ${fault}`;
  process.stdout.write(`${packagesOf(engine).join(', ')}: ${said}\n`);
}
if (signal !== null)
  process.stdout.write(`ended by ${signal}: the tests have ${MAX_MILLIS / 60_000} minutes\n`);
