import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ADMIN_KEY, Service } from '../support/service.ts';
import type { Attack, Ending } from './attack.ts';

const MIB = 2 ** 20;
const CACHE = 64 * MIB;
const MEMORY = 256 * MIB;

/** The configuration of an attacked service: budgets that an attack passes within seconds. */
export const attackedBudget = `cache: { bytes: ${CACHE} }
budget: { time: 2s, memory: ${MEMORY}, decompressed: 512MiB, rows: 100000000 }
workers: 1
`;

/** What a service may hold, in bytes. */
export const MOST_RESIDENT = CACHE + MEMORY + 512 * MIB;

/** What an attack did. Times are those of DescribeTable, in ms. */
export interface Attacked {
  readonly name: string;
  readonly endings: readonly Ending[];
  readonly p99Alone: number;
  readonly p99Beside: number;
  /** The most processor time of one turn of the event loop, in ms: so long others waited, whatever else the machine does. */
  readonly longestTurn: number;
  /** The most memory that the service held meanwhile, in bytes. */
  readonly peak: number;
}

/** Starts a service whose event loop is watched. */
export function startAttacked(config: string): Promise<Service> {
  const watch = new URL('./loop-turns.mjs', import.meta.url).href;
  return Service.start({ config, nodeFlags: ['--import', watch] });
}

/** How long DescribeTable is asked for without an attack, in ms. */
const ALONE_MILLIS = 500;

/** Runs an attack beside a client that asks for a table's description. */
export async function attacked(service: Service, attack: Attack): Promise<Attacked> {
  const p99Alone = await p99During(service, () => sleep(ALONE_MILLIS));
  await forgetPeak(service);
  const before = (await turnsOf(service)).length;
  let endings: readonly Ending[] = [];
  const p99Beside = await p99During(service, async () => {
    endings = await attack.run(service);
  });
  const longestTurn = Math.max(0, ...(await turnsOf(service)).slice(before));
  const peak = await peakOf(service);
  return { name: attack.name, endings, p99Alone, p99Beside, longestTurn, peak };
}

/** The turns that `loop-turns.mjs` wrote down in a service. */
async function turnsOf({ folder }: Service): Promise<readonly number[]> {
  const text = await readFile(join(folder, 'loop-turns.txt'), 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).map(Number);
}

async function p99During({ url }: Service, act: () => Promise<unknown>): Promise<number> {
  const script = new URL('./describe-times.mjs', import.meta.url);
  const worker = new Worker(script, { workerData: { url, key: ADMIN_KEY } });
  try {
    await once(worker, 'online');
    await act();
    const answered = once(worker, 'message');
    worker.postMessage('stop', []);
    const [times] = (await answered) as [number[]];
    const sorted = times.toSorted((left, right) => left - right);
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
  } finally {
    await worker.terminate();
  }
}

/** Has Linux count the most memory of a process again. */
async function forgetPeak({ pid }: Service): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

async function peakOf({ pid }: Service): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** The table of what attacks did, as text. */
export function tableOf(all: readonly Attacked[]): string {
  const head = ['attack', 'p99 alone', 'p99 beside', 'ratio', 'longest turn', 'peak', 'ended by'];
  const rows = all.map((one) => [
    one.name,
    `${one.p99Alone.toFixed(1)} ms`,
    `${one.p99Beside.toFixed(1)} ms`,
    (one.p99Beside / one.p99Alone).toFixed(1),
    `${one.longestTurn.toFixed(0)} ms`,
    `${Math.round(one.peak / MIB)} MiB`,
    endingsOf(one),
  ]);
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => row[at]!.length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Each ending once, with how often it came. */
function endingsOf({ endings }: Attacked): string {
  const counts = new Map<string, number>();
  for (const ending of endings) {
    const status = ending.slice(0, ending.startsWith('connection') ? undefined : 3);
    const key = /(budget\.\w+|limits\.\w+)/.exec(ending)?.[1];
    const shown = key === undefined ? status : `${status} ${key}`;
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  return [...counts]
    .map(([shown, count]) => (count === 1 ? shown : `${count} × ${shown}`))
    .join(', ');
}
