import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { startServing, type ChildServer } from '../harness/child-server.ts';
import { pinned } from '../harness/core.ts';

const PLACES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Starts one worker of nginx that passes every request on to another place of its own, which always answers the same.
 * @param answer The body of every answer. @param core Where it runs.
 */
export async function startConstantProxy(answer: string, core: number): Promise<ChildServer> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-nginx-'));
  const [front, back] = [await freePort(), await freePort()];
  const config = join(folder, 'nginx.conf');
  await writeFile(config, configText(folder, answer, front, back));
  const command = pinned(core, 'nginx', ['-p', folder, '-c', config]);
  return startServing({ url: `http://127.0.0.1:${front}`, command, folder });
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
