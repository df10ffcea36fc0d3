import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pythonFault, pythonWithClients } from '../support/client-packages.ts';
import { ADMIN_KEY, type Service } from '../support/service.ts';

/** Whether everything is run, as by `npm run test:clients`; a sample otherwise. */
export const runsAll = process.env['ARROWGATE_TEST_CLIENTS'] === 'all';

/** Whether the Python clients can be run. Says loudly when they cannot; where everything is run that is an error. */
export const hasPython: boolean = looksForPython();

function looksForPython(): boolean {
  const fault = pythonFault();
  if (fault === undefined) return true;
  if (runsAll) throw new Error(`the Python clients cannot be run: ${fault}`);
  const line = '*'.repeat(72);
  process.stderr.write(`${line}\narrowgate: PYTHON CLIENTS ARE NOT TESTED: ${fault}\n${line}\n`);
  return false;
}

const SCRIPTS = fileURLToPath(new URL('python/', import.meta.url));

/** What a script is told of its server. */
export interface PythonTarget {
  readonly url: string;
  /** The administrator's when absent. */
  readonly key?: string;
  /** Where the script works. */
  readonly namespace: readonly string[];
  /** Whether the reference server of the namespace specification answers. */
  readonly reference: boolean;
  /** Whether the server answers queries on tables that Lance clients wrote. */
  readonly queriesLance: boolean;
}

/** One check of a script. */
export interface PythonCheck {
  readonly name: string;
  readonly fault?: string;
}

/** Runs the checks of a script; answers the names of all, and what those that failed said. */
export async function checksOf(
  script: string,
  { url, key = ADMIN_KEY, namespace, reference, queriesLance }: PythonTarget,
): Promise<{ readonly names: readonly string[]; readonly faults: readonly string[] }> {
  const python = await pythonWithClients();
  const server = { url, key, namespace, reference, all: runsAll, queries_lance: queriesLance };
  const child = spawn(python, [join(SCRIPTS, script), JSON.stringify(server)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  const checks: PythonCheck[] = [];
  const ended = once(child, 'close');
  for await (const line of createInterface(child.stdout)) {
    checks.push(JSON.parse(line) as PythonCheck);
  }
  const [code] = await ended;
  if (code !== 0)
    throw new Error(`${script} ended with ${code}: ${Buffer.concat(errors).toString()}`);
  const faults = checks.flatMap(({ name, fault }) =>
    fault === undefined ? [] : `${name}: ${fault}`,
  );
  return { names: checks.map(({ name }) => name), faults };
}

/** A target of a service that serves its own tables. */
export function ownTables({ url }: Service, namespace: readonly string[]): PythonTarget {
  return { url, namespace, reference: false, queriesLance: false };
}

/** The reference server of the namespace specification (`RestAdapter` of pylance), on a folder of its own. */
export class ReferenceServer {
  readonly url: string;
  readonly #end: () => Promise<void>;

  private constructor(url: string, end: () => Promise<void>) {
    this.url = url;
    this.#end = end;
  }

  static async start(): Promise<ReferenceServer> {
    const python = await pythonWithClients();
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-reference-'));
    const child = spawn(python, [join(SCRIPTS, 'rest_adapter.py'), folder], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    });
    const ended = once(child, 'exit');
    const lines = createInterface(child.stdout);
    const [port] = await Promise.race([
      once(lines, 'line'),
      ended.then(() => Promise.reject(new Error('the reference server did not start'))),
    ]);
    return new ReferenceServer(`http://127.0.0.1:${port}`, async () => {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    });
  }

  stop(): Promise<void> {
    return this.#end();
  }
}
