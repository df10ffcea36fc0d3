import { CatalogError } from '../../../protocol/errors.ts';
import { ownStatement } from '../../base/statement.ts';
import type { CommitJudge } from '../../rules/commit-judge.ts';
import { lanceJudge } from '../../rules/lance-judge.ts';
import { jobChain, jobTable } from '../../upkeep/jobs/backfill.ts';
import type { Job, JobWork } from '../../upkeep/jobs/job.ts';
import type { LanceIndexJob } from '../../upkeep/jobs/transaction.ts';
import { commitsOfLibrary, type LibraryChanges } from '../rows/library-changes.ts';
import { versionPlace } from '../rows/library-reads.ts';

/** Parts of the jobs that build indices of Lance tables. */
interface LanceIndexing extends Omit<LibraryChanges, 'library'> {
  /** The judge of the version that a job makes. */
  readonly judge: (job: Job) => CommitJudge;
}

/**
 * Has the library build an index. The version that has it and the end of the job are one commit.
 * @throws CatalogError Unsupported where there is no library
 */
export function buildLanceIndex({ judge, ...parts }: LanceIndexing): JobWork {
  return async (job) => {
    const spec = lanceIndexJob(job);
    const { library, instead } = parts.lance ?? {};
    if (library === undefined) {
      throw new CatalogError('Unsupported', `the Lance library is not available: ${instead}`);
    }
    const { path, table } = await jobTable(parts.store, job);
    const { branch } = await jobChain(parts.tables, table.content, spec);
    const { column, name, replace, index } = spec;
    try {
      await commitsOfLibrary(
        { ...parts, library },
        {
          table: table.content,
          place: await versionPlace(parts, path, table.content, { branch }),
          branch,
          change: { kind: 'create_index', column, name, replace, index },
          rows: null,
          gates: { judge: lanceJudge(judge(job)) },
          beside: async ([made]) => ({
            checks: [await job.endCheck()],
            writes: job.endWrites(made?.record.version ?? 0n),
          }),
          statement: { ...ownStatement(), signal: () => job.signal },
        },
      );
    } catch (error) {
      job.checkRunning();
      throw error;
    }
  };
}

function lanceIndexJob({ record: { job } }: Job): LanceIndexJob {
  if (job.type === 'lance_index') return job;
  throw new Error(`a job of type ${job.type} builds no index of a Lance table`);
}
