import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often short work is run before it is measured. */
export const SHORT_WARMUPS = 20;

/** One of the sides that are compared. */
export interface Side {
  readonly name: string;
  /** How often it is run before the first round; once when absent. */
  readonly warmups?: number;
  /** Measures once: milliseconds, or whatever the question counts. */
  measure(): Promise<number>;
}

/** What was measured of a side. */
export interface Samples {
  readonly name: string;
  /** One value for each round, in the order of the rounds. */
  readonly values: readonly number[];
}

/**
 * Measures all sides in each round, in the order given in the first round, in
 * the opposite order in the next, and so on, so that none profits from its
 * place. Before that each is run without being measured: short work many times, since a
 * service is asked for thousands of its kind, and its code is compiled while it runs.
 */
export async function measureRounds(
  sides: readonly Side[],
  rounds: number,
): Promise<readonly Samples[]> {
  const values = new Map<Side, number[]>(sides.map((side) => [side, []]));
  for (const side of sides) {
    for (let time = 0; time < (side.warmups ?? 1); time++) await side.measure();
  }
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      settle();
      values.get(side)!.push(await side.measure());
    }
  }
  return sides.map((side) => ({ name: side.name, values: values.get(side)! }));
}

/** How long the work takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The same for work that is too short to be timed alone: the time of one, of `times` in a row. */
export async function timedEach(
  times: number,
  work: (time: number) => Promise<unknown>,
): Promise<number> {
  const total = await timed(async () => {
    for (let time = 0; time < times; time++) await work(time);
  });
  return total / times;
}

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What one side leaves behind, garbage and unwritten pages, must not slow the next. */
function settle(): void {
  collectGarbage();
  execFileSync('sync');
  fetchMemory();
}

/** Memory that work finds at hand, in bytes. */
const AT_HAND = 2 ** 29;
const PIECE = Buffer.alloc(2 ** 20, 1);

/**
 * A virtual machine may have given free memory back to its host, and then waits some 10 µs for each page of it, ten times
 * what a write to it takes. Work that is measured finds memory at hand, or it would depend on who freed files last.
 * What a file leaves is used for files again; what a process leaves is not, as was measured.
 */
export function fetchMemory(): void {
  const path = join(tmpdir(), `memory-${process.pid}`);
  const file = openSync(path, 'w');
  try {
    for (let bytes = 0; bytes < AT_HAND; bytes += PIECE.byteLength) writeSync(file, PIECE);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
