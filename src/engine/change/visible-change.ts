import { restrictionReasons, type RestrictionReason } from '../../protocol/restriction-reasons.ts';
import type { RecordBatch } from 'apache-arrow';
import { projectColumns } from '../../arrow/select.ts';
import type { CatalogError } from '../../protocol/errors.ts';
import { closing, type BoundRestrictions } from '../query/restrict/bound-restrictions.ts';
import type { VisibleTable } from '../query/restrict/visible-rows.ts';
import { rowFieldsOf } from '../request/computed-columns.ts';
import { predicateFormula, rowsInThread } from '../request/formula.ts';
import type { Statement } from '../base/statement.ts';
import { physicalRows, RowFinder, type BatchRows } from './row-finder.ts';
import type { Fragment, Snapshot } from '../format/snapshot.ts';

/** Refusals of changes by a caller whom restrictions bind. */
export interface ChangeRefusals {
  /** The refusal of a change that restrictions cannot be applied to, and why. */
  readonly refusal: (why: RestrictionReason) => CatalogError;
  /** The refusal of a row that the caller would not see. */
  readonly hidden: () => CatalogError;
}

/** How a caller whom restrictions bind changes a table. */
export interface VisibleChange extends ChangeRefusals {
  /** The rows of a version that the caller may see. */
  readonly table: (base: Snapshot) => Promise<VisibleTable>;
}

/** Rows of a change in one batch: as the caller sees them, and where they are stored. */
export interface VisibleBatchRows {
  readonly visible: BatchRows;
  readonly stored: BatchRows;
}

/**
 * Visible rows that pass a predicate, or all of them. The predicate is evaluated on visible rows and
 * masked values alone.
 */
export async function findVisible(
  table: VisibleTable,
  predicate: string | null,
  statement: Statement,
): Promise<readonly VisibleBatchRows[]> {
  const { rows } = table;
  const { snapshot } = rows;
  const formula =
    predicate === null
      ? null
      : predicateFormula('predicate', predicate, rowFieldsOf(snapshot.schema), statement);
  const found: VisibleBatchRows[] = [];
  for (const { found: batches } of await new RowFinder(rows).find(snapshot, formula)) {
    for (const visible of batches) {
      found.push({ visible, stored: await table.stored(visible.place, visible.rows) });
    }
  }
  return found;
}

/** Physical rows by fragment, ascending. */
export function storedRowsOf(
  found: readonly VisibleBatchRows[],
): ReadonlyMap<Fragment, Uint32Array> {
  const batches = new Map<Fragment, BatchRows[]>();
  for (const { stored } of found) {
    const { fragment } = stored.place;
    const known = batches.get(fragment);
    if (known === undefined) batches.set(fragment, [stored]);
    else known.push(stored);
  }
  return new Map([...batches].map(([fragment, each]) => [fragment, physicalRows(each)]));
}

/** Columns that the caller sees masked or not at all. */
export function restrictedColumns({ restrictions }: BoundRestrictions): ReadonlySet<string> {
  return new Set(restrictions.columns.map(({ column }) => column));
}

/**
 * Refuses columns that the caller may not write.
 * @param columns Top-level columns of the table.
 */
export function requireOwnColumns(
  columns: Iterable<string>,
  bound: BoundRestrictions,
  { refusal }: Pick<ChangeRefusals, 'refusal'>,
): void {
  const restricted = restrictedColumns(bound);
  for (const column of columns) {
    if (!restricted.has(column)) continue;
    throw refusal(restrictionReasons.restrictedColumn(JSON.stringify(column)));
  }
}

/**
 * Requires that the caller may see all rows of a batch.
 * @param batch With the columns of the row filter.
 */
export async function requireVisible(
  batch: RecordBatch,
  { filter, restrictions, object }: BoundRestrictions,
  { hidden }: Pick<ChangeRefusals, 'hidden'>,
): Promise<void> {
  if (filter === null || batch.numRows === 0) return;
  const kept = await judged(async () =>
    rowsInThread(filter, projectColumns(batch, filter.columns)),
  );
  if (kept.length < batch.numRows) throw hidden();

  async function judged<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw closing(error, restrictions.rows[0]?.restriction ?? '', object);
    }
  }
}
