// Fuzzes the built program by its OpenAPI document with schemathesis: npm run test:fuzz [-- EXAMPLES]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Int64, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { ADMIN_KEY, Service } from '../support/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = ['schemathesis==4.32.5', 'pyarrow==26.0.1'];
/** Random requests for each operation, beside those that cover each rule of the document. */
const [examples = '40'] = process.argv.slice(2);

/** What an answer must be: no 5xx but 503, and with a status, a type and a body that the document has. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

/** The virtual environment with the fuzzer; made when it is not there. @throws Error when it cannot be made */
async function environment(): Promise<string> {
  const folder = join(ROOT, 'node_modules/.cache/arrowgate-fuzz');
  const done = join(folder, PACKAGES.join(' '));
  if (existsSync(done)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  process.stderr.write(`arrowgate: installing ${PACKAGES.join(', ')} …\n`);
  await run('python3', ['-m', 'venv', '--clear', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
  await run(join(folder, 'bin/python'), [...pip, ...PACKAGES]);
  await writeFile(done, '');
  return folder;
}

/** @throws Error for a program that fails */
async function run(program: string, words: readonly string[]): Promise<void> {
  const code = await exitOf(program, words, {});
  if (code !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${code}`);
}

async function exitOf(
  program: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<number> {
  const child = spawn(program, words, {
    stdio: 'inherit',
    env: { ...process.env, ...variables },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** A table and a namespace, so that not every request is about something that is not there. */
async function fill({ url }: Service): Promise<void> {
  const rows = new Table({
    id: vectorFromArray([1n, 2n, 3n], new Int64()),
    a: vectorFromArray(['x', 'y', 'z'], new Utf8()),
  });
  const headers = { 'x-api-key': ADMIN_KEY };
  const method = 'POST';
  await fetch(`${url}/v1/namespace/n/create`, { method, headers, body: '{}' });
  const body = tableToIPC(rows, 'stream');
  await fetch(`${url}/v1/table/t/create`, { method, headers, body });
}

const python = await environment();
const config = 'limits: { failed_identifications: null }\n';
const service = await Service.start({ config });
try {
  await fill(service);
  const words = ['run', `${service.url}/openapi.json`, '--checks', CHECKS.join(',')];
  const how = ['--phases', 'coverage,fuzzing', '--max-examples', examples, '--no-color'];
  const fixed = ['--generation-deterministic', '--request-timeout', '60'];
  const key = ['--header', `x-api-key: ${ADMIN_KEY}`];
  process.exitCode = await exitOf(
    join(python, 'bin/schemathesis'),
    [...words, ...how, ...fixed, ...key],
    { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: join(ROOT, 'test/fuzz') },
  );
} finally {
  await service.stop();
}
