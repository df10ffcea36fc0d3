import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** The system's package puts it where not every user looks. */
const PATH = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`;

/** A real nginx of the system's package, with a configuration for its `http` block. */
export class Nginx {
  readonly port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  /**
   * Starts it on a free port.
   * @param server The configuration for a port.
   */
  static async start(server: (port: number) => string): Promise<Nginx> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-nginx-'));
    const port = await freePort();
    await mkdir(join(folder, 'bodies'));
    await writeFile(join(folder, 'server.conf'), server(port));
    await writeFile(join(folder, 'nginx.conf'), mainConfig(folder));
    const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH },
    });
    const said: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => said.push(chunk));
    await listens(port, child, () => Buffer.concat(said).toString());
    return new Nginx(port, folder, child);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends it and removes its folder. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function mainConfig(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const places = kinds.map((kind) => `  ${kind}_temp_path ${folder}/bodies/${kind};`);
  return [
    'daemon off;',
    'worker_processes 1;',
    // Its workers would otherwise be somebody who may not enter the folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `pid ${folder}/nginx.pid;`,
    'error_log stderr;',
    'events { worker_connections 256; }',
    'http {',
    '  access_log off;',
    ...places,
    `  include ${folder}/server.conf;`,
    '}',
    '',
  ].join('\n');
}

async function listens(port: number, child: ChildProcess, said: () => string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (child.exitCode !== null) break;
    if (await answers(port)) return;
    await sleep(25);
  }
  throw new Error(`nginx does not listen: ${said()}`);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
