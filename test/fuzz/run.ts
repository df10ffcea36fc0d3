// Fuzzes the built program by its OpenAPI document with schemathesis: npm run test:fuzz [-- EXAMPLES]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Int64, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { pythonWithFuzzer } from '../support/client-packages.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Random requests for each operation, beside those that cover each rule of the document. */
const [examples = '40'] = process.argv.slice(2);

/** What an answer must be: no 5xx but 503, and with a status, a type and a body that the document has. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

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

const python = await pythonWithFuzzer();
const config = 'limits: { failed_identifications: null }\n';
const service = await Service.start({ config });
try {
  await fill(service);
  const words = ['run', `${service.url}/openapi.json`, '--checks', CHECKS.join(',')];
  const how = ['--phases', 'coverage,fuzzing', '--max-examples', examples, '--no-color'];
  const fixed = ['--generation-deterministic', '--request-timeout', '60'];
  const key = ['--header', `x-api-key: ${ADMIN_KEY}`];
  process.exitCode = await exitOf(
    join(dirname(python), 'schemathesis'),
    [...words, ...how, ...fixed, ...key],
    { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: join(ROOT, 'test/fuzz') },
  );
} finally {
  await service.stop();
}
