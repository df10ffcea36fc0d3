import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

/* Connections that wait to be accepted. */

const CONNECTIONS = 2000;

let service: Service;

afterEach(() => service?.stop());

/** The backlog that the kernel has for a listener: its `Send-Q`. */
async function backlogOf(url: string): Promise<number> {
  const { stdout } = await promisify(execFile)('ss', ['-ltnH', `sport = :${new URL(url).port}`]);
  return Number(stdout.trim().split(/\s+/)[2]);
}

it.each([1, 2])('is as long as configured for each listener of %i processes', async (processes) => {
  const config = 'listen: { backlog: 321, admin: { port: 0 } }\n';
  service = await Service.start({ config, flags: ['--processes', String(processes)] });
  const { admin } = service.said;
  expect(admin).toBeDefined();
  expect(await backlogOf(service.url)).toBe(321);
  expect(await backlogOf(String(admin))).toBe(321);
});

it('holds 2,000 clients that come at once, and all are answered', async () => {
  service = await Service.start();
  const most = Number(await readFile('/proc/sys/net/core/somaxconn', 'utf8'));
  expect(await backlogOf(service.url)).toBe(Math.min(4096, most));
  const answers = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const agent = new Agent();
      return (await send(service.url, 'GET /healthz', { agent })).status;
    }),
  );
  expect(answers.filter((status) => status !== 200)).toEqual([]);
});
