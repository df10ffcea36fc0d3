import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { pinned } from '../harness/core.ts';

const PLACES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
const TRIES = 100;

/** One worker of nginx that passes every request on to another place of its own, which always answers the same. */
export class ConstantProxy {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
  }

  /** @param answer The body of every answer. @param core Where it runs. */
  static async start(answer: string, core: number): Promise<ConstantProxy> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-nginx-'));
    const [front, back] = [await freePort(), await freePort()];
    const config = join(folder, 'nginx.conf');
    await writeFile(config, configText(folder, answer, front, back));
    const [command, args] = pinned(core, 'nginx', ['-p', folder, '-c', config]);
    const child = spawn(command, args, { stdio: 'ignore' });
    const proxy = new ConstantProxy(`http://127.0.0.1:${front}`, child, folder);
    await proxy.#ready();
    return proxy;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await exited;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      if (this.#child.exitCode !== null) throw new Error('nginx did not start');
      const isUp = await fetch(this.url).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return;
      await sleep(50);
    }
    throw new Error('nginx does not answer');
  }
}

function configText(folder: string, answer: string, front: number, back: number): string {
  const places = PLACES.map((place) => `${place}_temp_path ${join(folder, place)};`).join('\n');
  return `daemon off;
worker_processes 1;
pid ${join(folder, 'pid')};
error_log ${join(folder, 'error.log')};
events { worker_connections 1024; }
http {
  access_log off;
  ${places}
  keepalive_requests 1000000000;
  upstream constant {
    server 127.0.0.1:${back};
    keepalive 32;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${back};
    location / {
      default_type application/json;
      return 200 '${answer}';
    }
  }
  server {
    listen 127.0.0.1:${front};
    location / {
      proxy_pass http://constant;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`;
}
