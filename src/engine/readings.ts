import type { BackgroundCompaction } from './upkeep/jobs/background-compaction.ts';
import type { FragmentReader } from './query/scan/fragment-reader.ts';
import type { MemoryBudget } from './format/memory/memory-budget.ts';
import type { StoreClock } from './once/store-clock.ts';
import type { ThreadPool } from './workers/thread-pool.ts';

/** Gauges and counters of an engine since its start. */
export interface EngineReadings {
  /** Memory that is spent on what is read often, and what there is for it, in bytes. */
  readonly cacheBytes: number;
  readonly cacheCapacity: number;
  /** Versions of tables that were committed. */
  readonly commits: number;
  /** Runs of small files that were merged. */
  readonly compactions: number;
  /** How often an index found the rows of a file. */
  readonly lookups: number;
  /** Threads that there may be, and the tasks that they have. */
  readonly workers: number;
  readonly tasks: number;
  /** Difference of the clocks of this machine and of the store, in seconds; 0 if they share one. */
  readonly clockSkew: number;
}

interface ReadParts {
  readonly memory: MemoryBudget;
  readonly compaction: BackgroundCompaction;
  readonly reader: FragmentReader;
  readonly pool: ThreadPool;
  readonly clock: StoreClock;
}

export function readingsOf({ memory, compaction, reader, pool, clock }: ReadParts): EngineReadings {
  return {
    cacheBytes: memory.bytes - memory.left,
    cacheCapacity: memory.bytes,
    commits: compaction.noticed,
    compactions: compaction.merged,
    lookups: reader.lookups,
    workers: pool.size,
    tasks: pool.tasks,
    clockSkew: Math.abs(clock.skewSeconds),
  };
}
