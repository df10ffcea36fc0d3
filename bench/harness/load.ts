import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { LOAD_CORE, pinned } from './core.ts';

const LOAD_SIDE = fileURLToPath(new URL('load-side.mjs', import.meta.url));
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
  readonly sent: number;
  /** Seconds. */
  readonly duration: number;
  readonly failed: number;
}

/**
 * Requests per second that are answered when as many are sent as will go, by a process of its own.
 * @param connections 16 unless given.
 * @throws Error when an answer is not one of success.
 */
export async function requestsPerSecond(
  load: LoadRequest,
  seconds: number,
  connections = CONNECTIONS,
): Promise<number> {
  const { sent, duration } = await send(load, { duration: seconds }, connections);
  return sent / duration;
}

/** Sends a number of requests in the same way. @throws Error when an answer is not one of success. */
export async function sendRequests(load: LoadRequest, amount: number): Promise<void> {
  await send(load, { amount });
}

async function send(
  load: LoadRequest,
  until: { readonly duration: number } | { readonly amount: number },
  connections = CONNECTIONS,
): Promise<LoadReport> {
  const options = { ...load, ...until, connections };
  const command = [LOAD_SIDE, JSON.stringify(options)];
  const child = spawn(...pinned(LOAD_CORE, process.execPath, command), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  await closed;
  const report = JSON.parse(Buffer.concat(chunks).toString()) as LoadReport;
  if (report.failed > 0) throw new Error(`${load.url}: ${report.failed} requests failed`);
  return report;
}
