import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { waitUntil } from './eventually.ts';
import { freePort } from './free-port.ts';

const MOST_STARTS = 5;

/** The flags of a Redis that keeps what it acknowledged. */
export const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** A real Redis of the system's package, on a port and a folder of its own. */
export class RedisServer {
  readonly port: number;
  readonly #folder: string;
  readonly #flags: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(port: number, folder: string, flags: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#flags = flags;
  }

  /**
   * Starts it again on another port if it ends: somebody may have taken the port since it was found free.
   * @param flags Flags of `redis-server`, `--sentinel` after a file too.
   * @throws Error with what it printed when it ends each time
   */
  static async start(flags: readonly string[] = DURABLE): Promise<RedisServer> {
    for (let starts = 1; ; starts++) {
      const folder = await mkdtemp(join(tmpdir(), 'arrowgate-redis-'));
      const server = new RedisServer(await freePort(), folder, flags);
      try {
        await server.restart();
        return server;
      } catch (error) {
        await server.stop();
        if (starts === MOST_STARTS) throw error;
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get folder(): string {
    return this.#folder;
  }

  /** Copies what it has on disk now; it continues. */
  async copy(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-redis-copy-'));
    await cp(this.#folder, folder, { recursive: true });
    return folder;
  }

  /** Kills it and starts it on a copy that was taken before, as a replica that lags behind takes over. */
  async goBack(copy: string): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
    await rename(copy, this.#folder);
    await this.restart();
  }

  /** Starts it again on what it left behind. */
  async restart(): Promise<void> {
    const fixed = ['--dir', this.#folder, '--bind', '127.0.0.1', '--save', ''];
    const port = this.#flags.includes('--tls-port') ? [] : ['--port', String(this.port)];
    const flags = this.#flags.map((flag) => flag.replace('PORT', String(this.port)));
    // A file of settings has to be the first.
    const child = spawn('redis-server', [...flags, ...port, ...fixed], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    await listening(child, this.port);
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops it in the middle of what it does; its connections stay. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Sends it one command. */
  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis({ port: this.port, host: '127.0.0.1' });
    try {
      return await client.call(name, args);
    } finally {
      client.disconnect();
    }
  }

  /** The value of a key, as `restore` takes it; null when there is no such key any more. */
  async dump(key: string): Promise<Buffer | null> {
    const client = new Redis({ port: this.port, host: '127.0.0.1' });
    try {
      return await client.dumpBuffer(key);
    } finally {
      client.disconnect();
    }
  }

  /** Puts a key back to what it was. */
  async restore(key: string, value: Buffer | null): Promise<void> {
    const client = new Redis({ port: this.port, host: '127.0.0.1' });
    try {
      if (value === null) await client.del(key);
      else await client.restore(key, 0, value, 'REPLACE');
    } finally {
      client.disconnect();
    }
  }

  /** Ends it and removes its folder. */
  async stop(): Promise<void> {
    await this.#end('SIGKILL');
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

/** @throws Error with what it printed, if it ends */
async function listening(child: ChildProcess, port: number): Promise<void> {
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (printed = (printed + chunk.toString()).slice(-2000)));
  }
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  child.once('exit', () => (failure = new Error(`redis-server ended: ${printed}`)));
  await waitUntil(async () => failure !== undefined || (await listens(port)));
  if (failure !== undefined) throw failure;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
