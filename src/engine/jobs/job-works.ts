import type { Running } from '../retention/running.ts';
import { backfill, type BackfillParts } from './backfill.ts';
import { buildIndex, type IndexJobParts } from './index-job.ts';
import type { JobRunnerOptions } from './job-runner.ts';

/** What does each kind of job; files that it writes are not collected meanwhile. */
export function jobWorks(
  parts: BackfillParts & IndexJobParts,
  running: Running,
): JobRunnerOptions['works'] {
  const [filling, building] = [backfill(parts), buildIndex(parts)];
  return {
    backfill: (job) => running.during(() => filling(job)),
    index: (job) => running.during(() => building(job)),
  };
}
