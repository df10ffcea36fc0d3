import type { Data, RecordBatch } from 'apache-arrow';
import { concatData } from '../../../arrow/concat.ts';
import { takeData } from '../../../arrow/take.ts';
import type { CandidateBatch } from '../../index/keys/candidates.ts';
import { plannedBatch, type ColumnPlan } from '../../format/column-plan.ts';
import { idsOfBatch, type RowIds } from './live-rows.ts';

/** Columns of rows that follow one another, from each file of a plan. */
export interface ReadStretch {
  readonly files: readonly ReadonlyMap<number, Data>[];
  /** The wanted ones of the rows; null for all. */
  readonly rows: Uint32Array | null;
  /** Number of wanted rows. */
  readonly count: number;
}

/** Joins stretches column by column, so that only one batch is made of them. All rows are copied. */
export function joinedStretches(plan: ColumnPlan, stretches: readonly ReadStretch[]): RecordBatch {
  const files = plan.files.map(({ places }, file) => {
    const columns = new Map<number, Data>();
    for (const place of places) {
      const parts = stretches.map(({ files: read, rows }) => {
        const data = read[file]!.get(place)!;
        return rows === null ? data : takeData(data, rows);
      });
      columns.set(place, concatData(parts));
    }
    return columns;
  });
  const count = stretches.reduce((sum, each) => sum + each.count, 0);
  return plannedBatch(plan, files, count);
}

/** The row ids of some rows of several batches of a fragment. */
export function idsOfBatches(
  first: bigint,
  batches: readonly Pick<CandidateBatch, 'start' | 'rows'>[],
  stored: readonly (BigUint64Array | null)[],
): RowIds {
  const count = batches.reduce((sum, { rows }) => sum + rows.length, 0);
  const all = new BigUint64Array(count);
  let at = 0;
  for (const [place, { start, rows }] of batches.entries()) {
    const own = idsOfBatch(first + BigInt(start), stored[place] ?? null, rows);
    if (own.kind === 'list') all.set(own.ids, at);
    at += rows.length;
  }
  return { kind: 'list', ids: all };
}
