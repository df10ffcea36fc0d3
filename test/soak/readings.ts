import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What a service holds at a moment. */
export type Reading = Readonly<Record<Held, number>>;

/** Memory in bytes, open descriptors, threads, and files and bytes of the data folder. */
export type Held = keyof typeof slack;

/** By how much a later part of a run may exceed an earlier one, beside a tenth. */
const slack = {
  memory: 32 * 2 ** 20,
  descriptors: 24,
  threads: 2,
  files: 200,
  bytes: 16 * 2 ** 20,
} as const;

const kinds = Object.keys(slack) as readonly Held[];

/** Reads what a process and its data folder hold. */
export async function readHeld(pid: number, data: string): Promise<Reading> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  const descriptors = (await readdir(`/proc/${pid}/fd`)).length;
  const memory = kib('VmRSS') * 1024;
  return { memory, descriptors, threads: kib('Threads'), ...(await filesBelow(data)) };
}

/** Files and folders come and go meanwhile. */
async function filesBelow(folder: string): Promise<{ files: number; bytes: number }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const held = { files: 0, bytes: 0 };
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory() && !entry.isFile()) continue;
    // Blocks that are in use: the store's file has holes.
    const { files, bytes } = entry.isDirectory()
      ? await filesBelow(path)
      : { files: 1, bytes: await blockBytes(path) };
    held.files += files;
    held.bytes += bytes;
  }
  return held;
}

async function blockBytes(path: string): Promise<number> {
  return stat(path).then(
    ({ blocks }) => blocks * 512,
    () => 0,
  );
}

/** What grows: the median of the last third of all readings exceeds that of the middle one. */
export function growing(readings: readonly Reading[]): readonly string[] {
  const third = Math.floor(readings.length / 3);
  return kinds.flatMap((kind) => {
    const [before, after] = [1, 2].map((part) =>
      medianOf(readings.slice(part * third, (part + 1) * third).map((reading) => reading[kind])),
    ) as [number, number];
    return after <= before * 1.1 + slack[kind] ? [] : [`${kind}: ${before}, then ${after}`];
  });
}

/** Readings at ten moments of a run, one line each. */
export function linesOf(readings: readonly Reading[]): readonly string[] {
  const step = Math.max(1, Math.floor(readings.length / 10));
  return readings
    .filter((_, at) => at % step === 0)
    .map((reading) => kinds.map((kind) => `${kind} ${shown(kind, reading[kind])}`).join(', '));
}

function shown(kind: Held, value: number): string {
  return kind === 'memory' || kind === 'bytes'
    ? `${Math.round(value / 2 ** 20)} MiB`
    : String(value);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
