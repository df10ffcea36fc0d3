import { CatalogError } from '../../../protocol/errors.ts';
import type { Store } from '../../../store/store.ts';
import type { PlacedTable } from '../../catalog/table-search.ts';
import { IndexFiles, type FragmentIndexer } from '../../indexing/index-files.ts';
import type { Contents } from '../../format/change.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import { withIndex } from '../../index/keys/index-upkeep.ts';
import type { IndexDefinition } from '../../format/snapshot.ts';
import type { Tables } from '../../versions/tables.ts';
import { jobChain, jobTable } from './backfill.ts';
import type { VersionLine } from './background-compaction.ts';
import type { Job, JobWork } from './job.ts';
import type { IndexSpec } from './transaction.ts';

export interface IndexJobParts {
  readonly store: Store;
  readonly tables: Tables;
  readonly reader: FragmentReader;
  /** Writes index files. */
  readonly indexer: FragmentIndexer;
}

/** Number of passes over new fragments; later ones are indexed in the background. */
const PASSES = 4;

/**
 * Builds an index while others continue reading and writing, and makes the version that has
 * it. Files are on stable storage before; until then nothing of the table has changed.
 */
export function buildIndex(parts: IndexJobParts): JobWork {
  return async (job) => {
    const { tables, store, reader, indexer } = parts;
    const spec = indexSpec(job);
    const current = () => jobTable(store, job);
    const { table } = await current();
    const chain = await jobChain(tables, table.content, spec);
    const line = { table, chain };
    const base = await tables.snapshot(table.content, undefined, chain);
    const files = new IndexFiles(reader, definitionOf(spec, base), indexer);
    const work: Work = { tables, line, current, files, job, spec, submitted: false };
    try {
      await prepare(work);
      await commit(work);
    } catch (error) {
      // If the commit may have happened, a version may name the files.
      if (!work.submitted) {
        await tables.discard(table.content, files.unnamedBy({ fragments: [] }));
      }
      throw error;
    }
  };
}

interface Work {
  readonly tables: Tables;
  readonly line: VersionLine;
  readonly current: () => Promise<PlacedTable>;
  readonly files: IndexFiles;
  readonly job: Job;
  readonly spec: IndexSpec;
  /** Whether what was written may have taken effect. */
  submitted: boolean;
}

function indexSpec({ record: { job } }: Job): IndexSpec {
  if (job.type === 'index') return job;
  throw new Error(`a job of type ${job.type} builds no index`);
}

function definitionOf(spec: IndexSpec, { schema, fieldIds }: Contents): IndexDefinition {
  const field = fieldIds[schema.fields.findIndex(({ name }) => name === spec.column)];
  if (field === undefined) {
    throw new CatalogError(
      'TableColumnNotFound',
      `the table has no column ${JSON.stringify(spec.column)}`,
    );
  }
  const { name, uuid, indexType: type, distance, asked, text } = spec;
  return { name, uuid, type, field, createdMillis: Date.now(), distance, asked, text };
}

async function prepare({ tables, line, files, job }: Work): Promise<void> {
  const { table, chain } = line;
  let done = 0;
  for (let pass = 0; pass < PASSES; pass++) {
    const snapshot = await tables.snapshot(table.content, undefined, chain);
    const total = snapshot.fragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);
    await files.cover(snapshot, (rows) => {
      job.checkRunning();
      done += rows;
      job.progress(done, total);
    });
    const head = await tables.version(table.content, undefined, chain);
    if (head.content.version === snapshot.version) return;
  }
}

async function commit(work: Work): Promise<void> {
  const { tables, line, current, files, job, spec } = work;
  let version = 0n;
  const { manifest } = await tables.commit({
    ...line,
    current: async () => (await current()).table,
    change: (base) => {
      version = base.version + 1n;
      checkStill(base, files.index, spec);
      return withIndex(base, files.index, files.files);
    },
    checks: async () => [await job.endCheck()],
    writes: () => {
      work.submitted = true;
      return job.endWrites(version);
    },
  });
  await tables.discard(line.table.content, files.unnamedBy(manifest));
}

/** @throws CatalogError TableIndexAlreadyExists; ConcurrentModification when the column was rewritten. */
function checkStill(base: Contents, index: IndexDefinition, spec: IndexSpec): void {
  checkName(base, spec);
  if (base.fieldIds.includes(index.field)) return;
  definitionOf(spec, base);
  throw new CatalogError(
    'ConcurrentModification',
    `the column ${JSON.stringify(spec.column)} was written anew meanwhile`,
  );
}

/**
 * Refuses a name that is taken, unless the index of that name is to be replaced.
 * @throws CatalogError TableIndexAlreadyExists.
 */
export function checkName(
  { indices = [] }: Pick<Contents, 'indices'>,
  { name, replace }: Pick<IndexSpec, 'name' | 'replace'>,
): void {
  if (replace || !indices.some((index) => index.name === name)) return;
  throw new CatalogError(
    'TableIndexAlreadyExists',
    `the table already has an index ${JSON.stringify(name)}`,
  );
}
