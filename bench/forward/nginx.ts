import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** What nginx does with every request. */
export interface NginxSite {
  readonly port: number;
  /** The lines of its one location. */
  readonly location: string;
  /** Addresses of an upstream `backend`, if the location passes requests on. */
  readonly upstream?: string;
}

/** A running nginx with one worker on one core. */
export interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts nginx on a core, with a folder of its own. */
export async function startNginx(site: NginxSite, core: number): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-nginx-'));
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configOf(site, folder));
  const child = spawn('taskset', ['-c', String(core), 'nginx', '-p', folder, '-c', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
  });
  await listening(site.port, child);
  return {
    url: `http://127.0.0.1:${site.port}`,
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGQUIT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configOf({ port, location, upstream }: NginxSite, folder: string): string {
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 10000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  ${upstream === undefined ? '' : `upstream backend { server ${upstream}; keepalive 64; keepalive_requests 10000000; }`}
  server {
    listen 127.0.0.1:${port};
    location / {
      ${location}
    }
  }
}
`;
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error('nginx did not start');
    const socket = connect(port, '127.0.0.1');
    const there = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (there) return;
    await sleep(50);
  }
  throw new Error(`nginx does not listen on port ${port}`);
}
