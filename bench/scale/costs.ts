import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RedisServer } from '../../test/support/redis-server.ts';
import type { Service } from '../../test/support/service.ts';

/** What a deployment has used until a moment; all numbers only grow, but memory. */
export interface Costs {
  /** Commands that Redis has executed, those inside scripts included. */
  readonly commands: number;
  /** Bytes between Redis and its clients, both ways. */
  readonly traffic: number;
  /** Processor time of Redis, in milliseconds. */
  readonly redisMillis: number;
  /** Bytes of memory of Redis. */
  readonly redisBytes: number;
  /** Processor time of the gateways, in milliseconds. */
  readonly gatewayMillis: number;
  /** Bytes of memory of the gateways. */
  readonly gatewayBytes: number;
  /** Bytes of the journal. */
  readonly journal: number;
  /** Bytes of the audit logs. */
  readonly audit: number;
}

const TICK_MILLIS = 10;

/** What Redis, gateways on one data folder, and that folder have used so far. */
export async function costsOf(redis: RedisServer, gateways: readonly Service[]): Promise<Costs> {
  const info = factsOf(String(await redis.command('INFO', 'everything')));
  const of = (name: string) => Number(info.get(name));
  const [{ data } = { data: '' }] = gateways;
  const used = await Promise.all(gateways.map(({ pid }) => processOf(pid)));
  return {
    commands: of('total_commands_processed'),
    traffic: of('total_net_input_bytes') + of('total_net_output_bytes'),
    redisMillis: 1000 * (of('used_cpu_user') + of('used_cpu_sys')),
    redisBytes: of('used_memory'),
    gatewayMillis: sum(used.map(({ millis }) => millis)),
    gatewayBytes: sum(used.map(({ bytes }) => bytes)),
    journal: await bytesBelow(join(data, 'catalog')),
    audit: await bytesBelow(join(data, 'private', 'audit')),
  };
}

/** What was used between two moments, divided by a number of units. */
export function costsEach(before: Costs, after: Costs, units: number): Costs {
  const names = Object.keys(before) as (keyof Costs)[];
  const each = names.map((name) => [name, (after[name] - before[name]) / units]);
  return Object.fromEntries(each);
}

function factsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').map((line) => {
      const [name = '', value = ''] = line.split(':');
      return [name, value];
    }),
  );
}

/** Processor time and memory of a process, as Linux counts them. */
async function processOf(pid: number): Promise<{ millis: number; bytes: number }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
  return { millis: TICK_MILLIS * (Number(fields[11]) + Number(fields[12])), bytes: 1024 * kib };
}

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(async ({ parentPath, name }) => {
    const found = await stat(join(parentPath, name)).catch(() => undefined);
    return found?.size ?? 0;
  });
  return sum(await Promise.all(sizes));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
