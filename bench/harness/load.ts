import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { LOAD_CORE, pinned } from './core.ts';

const AUTOCANNON = createRequire(import.meta.url).resolve('autocannon');
const CONNECTIONS = 16;

/** A request that is sent over and over. */
export interface LoadRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A file with the body, where it is no text. */
  readonly bodyFile?: string;
}

interface LoadReport {
  readonly requests: { readonly total: number };
  readonly duration: number;
  readonly non2xx: number;
  readonly errors: number;
}

/**
 * Requests per second that are answered when as many are sent as will go, over
 * 16 connections, by a process of its own.
 * @throws Error when an answer is not one of success.
 */
export async function requestsPerSecond(load: LoadRequest, seconds: number): Promise<number> {
  const headers = Object.entries(load.headers ?? {}).flatMap(([name, value]) => [
    '-H',
    `${name}=${value}`,
  ]);
  const output = ['--json', '--no-progress'];
  const pace = ['-c', String(CONNECTIONS), '-d', String(seconds)];
  const text = load.body === undefined ? [] : ['-b', load.body];
  const body = load.bodyFile === undefined ? text : ['-i', load.bodyFile];
  const args = [AUTOCANNON, ...output, ...pace, '-m', load.method, ...headers, ...body, load.url];
  const child = spawn(...pinned(LOAD_CORE, process.execPath, args), {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const closed = once(child, 'close');
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  await closed;
  const { requests, duration, non2xx, errors } = JSON.parse(
    Buffer.concat(chunks).toString(),
  ) as LoadReport;
  if (non2xx + errors > 0) throw new Error(`${load.url}: ${non2xx + errors} requests failed`);
  return requests.total / duration;
}
