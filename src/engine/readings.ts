import type { BackgroundCompaction } from './upkeep/jobs/background-compaction.ts';
import type { FragmentReader } from './query/scan/fragment-reader.ts';
import type { MemoryBudget } from './format/memory/memory-budget.ts';
import type { ThreadPool } from './workers/thread-pool.ts';

/** What an engine holds and has done since its start, for those who watch it. */
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
}

export function readingsOf(
  memory: MemoryBudget,
  compaction: BackgroundCompaction,
  reader: FragmentReader,
  threads: ThreadPool,
): EngineReadings {
  return {
    cacheBytes: memory.bytes - memory.left,
    cacheCapacity: memory.bytes,
    commits: compaction.noticed,
    compactions: compaction.merged,
    lookups: reader.lookups,
    workers: threads.size,
    tasks: threads.tasks,
  };
}
