import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { principalName } from '../../src/cli/config/key-details.ts';
import { updateKeys } from '../../src/gateway/identity/key-file.ts';
import { makeKey } from '../../src/gateway/identity/keys.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The administrator key of every service that a test starts. */
export const ADMIN_KEY = 'an-administrator-key-for-tests';

export interface ServiceOptions {
  /** Folder of the checkout whose build and policies are used; this one when absent. */
  readonly root?: string;
  /** Further flags of `arrowgate serve`. */
  readonly flags?: readonly string[];
  /** Umask that it is started with, in octal; that of the tests when absent. */
  readonly umask?: string;
  /** Its `ulimit -n`; that of the tests when absent. */
  readonly descriptors?: number;
  /** User id, and group id, of the program; those of the tests when absent. */
  readonly user?: number;
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[];
  /** Where its folder is made; among the files of the moment when absent. */
  readonly within?: string;
  /** The lines of `policy.csv`; the shipped policies when absent. */
  readonly policy?: string;
  /** The text of `commits.yaml`; no such file when absent. */
  readonly commits?: string;
  /** The text of `model.conf`; the shipped model when absent. */
  readonly model?: string;
  /** The text of `limits.yaml`; no such file when absent. */
  readonly limits?: string;
  /** False for none, so that the program makes its first key itself. */
  readonly adminKey?: false;
  /** Further variables of its environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The text of `arrowgate.yaml` in the working folder; no such file when absent. */
  readonly config?: string;
}

/** Tests start more processes than two cores can warm up. */
const COLD = { ARROWGATE_WARM_UP: 'false' };

/** One audit record, as its line says it. */
export type AuditLine = Readonly<Record<string, unknown>>;

/** How a command ended, and what it printed. */
export interface Printed {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The built program, running as its users run it. */
export class Service {
  readonly folder: string;
  readonly options: ServiceOptions;
  #child: ChildProcess | undefined;
  #said: Readonly<Record<string, unknown>> = {};
  #errors: Buffer[] = [];

  private constructor(folder: string, options: ServiceOptions) {
    this.folder = folder;
    this.options = options;
  }

  /** Starts the program on a fresh data folder and any free port. */
  static async start(options: ServiceOptions = {}): Promise<Service> {
    const service = await Service.prepare(options);
    await service.restart();
    return service;
  }

  /** Makes the folders of a service, which `restart` starts for the first time. */
  static async prepare(options: ServiceOptions = {}): Promise<Service> {
    const folder = await mkdtemp(join(options.within ?? tmpdir(), 'arrowgate-'));
    const service = new Service(folder, options);
    await cp(join(service.#root, 'policies'), service.policies, { recursive: true });
    if (options.policy !== undefined) await service.writePolicy(options.policy);
    if (options.commits !== undefined)
      await writeFile(join(service.policies, 'commits.yaml'), options.commits);
    if (options.model !== undefined) {
      await writeFile(join(service.policies, 'model.conf'), options.model);
    }
    if (options.limits !== undefined)
      await writeFile(join(service.policies, 'limits.yaml'), options.limits);
    if (options.config !== undefined)
      await writeFile(join(folder, 'arrowgate.yaml'), options.config);
    return service;
  }

  /** Starts several processes at the same moment on one fresh data folder; `stop` of any removes it. */
  static async together(count: number, options: ServiceOptions = {}): Promise<readonly Service[]> {
    const folder = await mkdtemp(join(options.within ?? tmpdir(), 'arrowgate-'));
    const all = Array.from({ length: count }, () => new Service(folder, options));
    await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true });
    await Promise.all(all.map((service) => service.restart()));
    return all;
  }

  /** Starts another process on the folders of one that runs; `stop` of either removes them. */
  static async beside(other: Service, options: ServiceOptions = {}): Promise<Service> {
    const service = new Service(other.folder, options);
    await service.restart();
    return service;
  }

  get #root(): string {
    return this.options.root ?? ROOT;
  }

  get #main(): string {
    return join(this.#root, 'dist/cli/main.js');
  }

  get url(): string {
    return String(this.#said['url']);
  }

  /** What its first line said. */
  get said(): Readonly<Record<string, unknown>> {
    return this.#said;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  get policies(): string {
    return join(this.folder, 'policies');
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Replaces the policy before the program starts; the cases of the shipped one go with it. */
  async writePolicy(lines: string): Promise<void> {
    await rm(join(this.policies, 'cases.yaml'), { force: true });
    await writeFile(join(this.policies, 'policy.csv'), lines);
  }

  /** Replaces `arrowgate.yaml` before the program starts again. */
  async configure(config: string): Promise<void> {
    await writeFile(join(this.folder, 'arrowgate.yaml'), config);
  }

  /** Commands of a shell before the program. */
  get #limits(): string {
    const { umask, descriptors } = this.options;
    const mask = umask === undefined ? '' : `umask ${umask}; `;
    return descriptors === undefined ? mask : `${mask}ulimit -n ${descriptors}; `;
  }

  /** Starts the program again on the same folders. */
  async restart(): Promise<void> {
    const { nodeFlags = [], flags = [], adminKey, variables = {}, user } = this.options;
    const folders = ['--data', this.data, '--policies', this.policies];
    const key = adminKey === false ? [] : ['--admin-key', ADMIN_KEY];
    const words = [...nodeFlags, this.#main, 'serve', '--port', '0', ...folders, ...key, ...flags];
    const child = spawn('sh', ['-c', `${this.#limits}exec "$0" "$@"`, process.execPath, ...words], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...COLD, ...variables },
      ...(user !== undefined && { uid: user, gid: user }),
    });
    this.#child = child;
    const errors: Buffer[] = (this.#errors = []);
    child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
    const said = await Promise.race([firstLine(child), once(child, 'exit').then(() => undefined)]);
    if (said === undefined)
      throw new Error(`the service did not start: ${Buffer.concat(errors).toString()}`);
    this.#said = JSON.parse(said) as Readonly<Record<string, unknown>>;
  }

  /** What it has said on standard error since it was started last. */
  get errors(): string {
    return Buffer.concat(this.#errors).toString();
  }

  /** Sends a signal and waits for the end; answers the exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = await exited;
    return typeof code === 'number' ? code : null;
  }

  /** Resolves with the exit code when the program has ended, by whatever. */
  async ended(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return null;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode;
  }

  /** Ends the program and removes its folders. */
  async stop(): Promise<void> {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Every audit record so far, in the order of the files. */
  async audit(): Promise<readonly AuditLine[]> {
    const folder = join(this.data, 'private', 'audit');
    const names = (await readdir(folder, { recursive: true })).filter((n) => n.endsWith('.jsonl'));
    const texts = await Promise.all(
      names.sort().map((name) => readFile(join(folder, name), 'utf8')),
    );
    const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as AuditLine);
  }

  /** Runs another command of the program on the same folders; answers what it printed. */
  async command(...args: readonly string[]): Promise<Printed> {
    return printedBy(this.#commandOf(args));
  }

  /** The same, killed at a signal: its code is null then. */
  async commandUntil(signal: AbortSignal, ...args: readonly string[]): Promise<Printed> {
    const child = this.#commandOf(args);
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    return printedBy(child);
  }

  #commandOf(args: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
    return spawn(process.execPath, [this.#main, ...args, ...this.#folders(args)], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.options.variables },
    });
  }

  /** Commands on keys, on the catalog and on the log know no policy, those on the policy no data. */
  #folders(args: readonly string[]): readonly string[] {
    const [command = ''] = args;
    const data = command === 'policy' ? [] : ['--data', this.data];
    const knowsNone = ['keys', 'catalog', 'audit'].includes(command) || args.includes('--policies');
    return knowsNone ? data : [...data, '--policies', this.policies];
  }

  /** A new key for a subject that holds the given roles, as the command makes it, without its record. */
  async key(subject: string, ...roles: readonly string[]): Promise<string> {
    const details = {
      subject: principalName('user', subject),
      roles: roles.map((role) => principalName('role', role)),
      expires: null,
    };
    const made = makeKey(details, new Date());
    const path = join(this.data, 'private', 'keys.json');
    await updateKeys(path, (stored) => [...stored, made.stored]);
    return made.text;
  }

  /** The same by the command `keys create`. */
  async keyByCommand(subject: string, ...roles: readonly string[]): Promise<string> {
    const flags = roles.flatMap((role) => ['--role', role]);
    const make = ['keys', 'create', '--subject', subject, ...flags, '--json'];
    const { code, out, err } = await this.command(...make);
    if (code !== 0) throw new Error(`keys create failed: ${err}`);
    return String(JSON.parse(out).key);
  }
}

async function firstLine(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  for await (const line of createInterface({ input: child.stdout })) return line;
  return undefined;
}

async function printedBy(child: ChildProcessByStdio<null, Readable, Readable>): Promise<Printed> {
  const [out, err, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close'),
  ]);
  return { code: typeof code === 'number' ? code : null, out, err };
}

async function textOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  const chunks: Buffer[] = [];
  if (stream !== null) for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}
