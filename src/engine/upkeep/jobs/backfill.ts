import { Vector, type Data, type Field, type RecordBatch } from 'apache-arrow';
import { concatData } from '../../../arrow/concat.ts';
import { take } from '../../../arrow/select.ts';
import { takeData } from '../../../arrow/take.ts';
import { budgetOfMemory } from '../../../protocol/budget.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Store } from '../../../store/store.ts';
import type { TableRecord } from '../../format/records.ts';
import { tableNotFound } from '../../catalog/records/refusals.ts';
import { searchTable, type PlacedTable } from '../../catalog/table-search.ts';
import type { Assignment } from '../../change/assignment.ts';
import { computedAssignment, computedData } from '../../change/computed-values.ts';
import { predicateFormula, rowsInThread } from '../../request/formula.ts';
import {
  ownStatement,
  type FormulaThreads,
  type Statement,
  type Formula,
} from '../../base/statement.ts';
import type { Chain } from '../../format/chain.ts';
import type { Contents } from '../../format/change.ts';
import { ColumnWriter } from '../../versions/lines/column-writer.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import type { JudgeVersion } from '../../format/version-codec.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { tableColumns, withColumns, type TableColumn } from '../../format/table-columns.ts';
import type { Tables } from '../../versions/tables.ts';
import type { VersionLine } from './background-compaction.ts';
import type { Job, JobWork } from './job.ts';
import type { BackfillSpec, JobSpec } from './transaction.ts';

export interface BackfillParts {
  readonly store: Store;
  readonly tables: Tables;
  readonly reader: FragmentReader;
  /** Maximum number of rows that are filled while other writers wait, except at the last try. */
  readonly rowsInCommit?: number;
  /** Threads for long expressions; none when absent. */
  readonly threads?: FormulaThreads;
  /** Bytes that evaluating an expression may hold where the job's request had no bound; any unless given. */
  readonly memory?: number;
  /** Judge of the version that a job makes. */
  readonly judge?: (
    job: Job,
    place: { readonly path: ObjectPath; readonly table: TableRecord; readonly branch: string },
  ) => JudgeVersion | undefined;
}

/** A computed column of a table, bound to its columns. */
interface BackfillPlan {
  readonly position: number;
  readonly field: Field;
  readonly assignment: Assignment;
  readonly where: Formula | null;
}

/** Number of passes without blocking other writers; each reads only new rows. */
const PASSES = 4;
const ROWS_IN_COMMIT = 100_000;
const TRIES = 5;

/**
 * Binds a backfill to the columns of a table.
 * @throws CatalogError TableColumnNotFound, and InvalidInput for a column that is
 * not computed or SQL that does not fit the table.
 */
export function planBackfill(
  { schema }: Pick<Contents, 'schema'>,
  { column, where }: Pick<BackfillSpec, 'column' | 'where'>,
  statement?: Statement,
): BackfillPlan {
  const position = schema.fields.findIndex(({ name }) => name === column);
  const field = schema.fields[position];
  if (field === undefined) {
    throw new CatalogError(
      'TableColumnNotFound',
      `the table has no column ${JSON.stringify(column)}`,
    );
  }
  const assignment = computedAssignment(field, schema, statement);
  if (assignment === undefined) {
    throw new CatalogError(
      'InvalidInput',
      `the column ${JSON.stringify(column)} is not computed: there is no expression to fill it from`,
    );
  }
  return {
    position,
    field,
    assignment,
    where: where === null ? null : predicateFormula('where', where, schema.fields, statement),
  };
}

/**
 * Gives a computed column its values in all rows, or in those of which the predicate
 * is true, as one more version of the table: all of them or none.
 */
export function backfill(parts: BackfillParts): JobWork {
  return async (job) => {
    const { tables, reader, store, rowsInCommit = ROWS_IN_COMMIT } = parts;
    const current = () => jobTable(store, job);
    const { path, table } = await current();
    const chain = await jobChain(tables, table.content, job.record.job);
    const line = { table, chain };
    const writer = new ColumnWriter(tables.storage, reader, tables.folder(table.content));
    const filling = new Filling(writer, job, parts);
    try {
      for (let tries = 1; ; tries++) {
        await prepare(tables, line, filling);
        filling.allow(tries < TRIES ? rowsInCommit : Infinity);
        const judge = parts.judge?.(job, { path, table: table.content, branch: chain.branch });
        if (await commits({ ...line, tables, current, filling, job, judge })) return;
      }
    } catch (error) {
      // If the commit may have happened, a version may name the files.
      if (!filling.submitted) await writer.keepOnly([]);
      throw error;
    }
  };
}

/** The table has other columns, or many more rows, than when its rows were filled. */
class Overtaken extends CatalogError {
  constructor() {
    super('ConcurrentModification', 'the table was changed too much meanwhile');
  }
}

interface Commit extends VersionLine {
  readonly tables: Tables;
  readonly current: () => Promise<PlacedTable>;
  readonly filling: Filling;
  readonly job: Job;
  readonly judge: JudgeVersion | undefined;
}

/** Fills the rows while others continue writing, and then those that came meanwhile. */
async function prepare(
  tables: Tables,
  { table: { content }, chain }: VersionLine,
  filling: Filling,
): Promise<void> {
  filling.allow(Infinity);
  for (let pass = 0; pass < PASSES; pass++) {
    const snapshot = await tables.snapshot(content, undefined, chain);
    await filling.filled(snapshot);
    const head = await tables.version(content, undefined, chain);
    if (head.content.version === snapshot.version) return;
  }
}

/** False when there is too much left to do to keep other writers waiting for it. */
async function commits(commit: Commit): Promise<boolean> {
  const { tables, table, chain, current, filling, job } = commit;
  let version = 0n;
  try {
    const { manifest } = await tables.commit({
      table,
      chain,
      current: async () => (await current()).table,
      change: async (base) => {
        version = base.version + 1n;
        const snapshot = tables.snapshotOf(table.content, base);
        const { fragments, columns } = await filling.filled(snapshot);
        return withColumns({ ...base, fragments }, columns);
      },
      checks: async () => [await job.endCheck()],
      judge: commit.judge,
      writes: () => {
        filling.submitted = true;
        return job.endWrites(version);
      },
    });
    await filling.writer.keepOnly(manifest.fragments);
    return true;
  } catch (error) {
    if (error instanceof Overtaken) return false;
    throw error;
  }
}

/** The line of a job. @throws CatalogError TableBranchNotFound, also for a later branch of the name. */
export async function jobChain(
  tables: Tables,
  table: TableRecord,
  { branch, branchKey }: JobSpec,
): Promise<Chain> {
  const chain = await tables.chain(table, branch);
  if (chain.key === branchKey) return chain;
  throw new CatalogError(
    'TableBranchNotFound',
    `the branch ${JSON.stringify(branch)} is another one than when the job began`,
  );
}

/** Current path and record of a job's table. @throws CatalogError TableNotFound. */
export async function jobTable(store: Store, { record }: Job): Promise<PlacedTable> {
  const found = await searchTable(store, record.table);
  if (found === undefined) throw tableNotFound(record.table.path);
  return found;
}

/** The rows of a version with values in the column, and its columns. */
interface Filled {
  readonly fragments: readonly Fragment[];
  readonly columns: readonly TableColumn[];
}

/** Evaluation options of a backfill. */
type Evaluation = Pick<BackfillParts, 'threads' | 'memory'>;

/** The work of a backfill on one version after the other; fragments that are still the same are filled once. */
class Filling {
  readonly writer: ColumnWriter;
  /** Whether what was written may have taken effect. */
  submitted = false;
  readonly #job: Job;
  readonly #statement: Statement;
  #rows = 0;
  #allowed = Infinity;

  constructor(writer: ColumnWriter, job: Job, { threads, memory = Infinity }: Evaluation) {
    this.#statement = {
      ...ownStatement(budgetOfMemory(memoryOf(job, memory))),
      threads: threads ?? null,
      owner: `job ${job.record.id}`,
    };
    this.writer = writer;
    this.#job = job;
  }

  /** How many rows may be filled from now on. */
  allow(rows: number): void {
    this.#allowed = rows;
  }

  /** A version with the column filled. The column gets another id, so that older versions keep what they had. */
  async filled(snapshot: Snapshot): Promise<Filled> {
    this.#job.checkRunning();
    const plan = planBackfill(snapshot, this.#job.record.job, this.#statement);
    const id = snapshot.nextFieldId;
    const fragments = await this.writer.extended(snapshot, {
      fields: [plan.field],
      ids: [id],
      reads: readsOf(plan),
      values: (rows) => this.#values(plan, rows, snapshot.rows),
    });
    const columns = tableColumns(snapshot).map((column, at) =>
      at === plan.position ? { field: column.field, id } : column,
    );
    return { fragments, columns };
  }

  async #values(plan: BackfillPlan, rows: RecordBatch, total: bigint): Promise<readonly Vector[]> {
    this.#job.checkRunning();
    this.#allowed -= rows.numRows;
    if (this.#allowed < 0) throw new Overtaken();
    const values = await valuesOf(plan, rows);
    this.#rows += rows.numRows;
    this.#job.progress(this.#rows, Number(total));
    return [new Vector([values])];
  }
}

/** A job of an older version, or of an index, does not know the budget of its request. */
function memoryOf({ record: { job } }: Job, configured: number): number {
  return (job.type === 'backfill' ? job.memory : null) ?? configured;
}

function readsOf({ assignment, where, field }: BackfillPlan): readonly string[] {
  const { columns } = assignment.formula;
  return where === null ? columns : [...new Set([...columns, ...where.columns, field.name])];
}

/** New values where the predicate is true, elsewhere those that are there. */
async function valuesOf(
  { assignment, where, field }: BackfillPlan,
  rows: RecordBatch,
): Promise<Data> {
  if (where === null) return computedData(assignment, rows);
  const chosen = await rowsInThread(where, rows);
  const old = rows.getChild(field.name)!.data[0]!;
  if (chosen.length === 0) return old;
  const fresh = await computedData(assignment, take(rows, chosen));
  const places = Uint32Array.from({ length: rows.numRows }, (_, row) => row);
  chosen.forEach((row, at) => (places[row] = rows.numRows + at));
  return takeData(concatData([old, fresh]), places);
}
