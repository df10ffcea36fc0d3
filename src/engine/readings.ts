import type { BackgroundCompaction } from './jobs/background-compaction.ts';
import type { MemoryBudget } from './table/memory-budget.ts';
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
  /** Threads that there may be, and the tasks that they have. */
  readonly workers: number;
  readonly tasks: number;
}

export function readingsOf(
  memory: MemoryBudget,
  compaction: BackgroundCompaction,
  threads: ThreadPool,
): EngineReadings {
  return {
    cacheBytes: memory.bytes - memory.left,
    cacheCapacity: memory.bytes,
    commits: compaction.noticed,
    compactions: compaction.merged,
    workers: threads.size,
    tasks: threads.tasks,
  };
}
