import { DataType, type Schema } from 'apache-arrow';
import { layoutOf, widthOf } from '../../../arrow/layout.ts';
import { fragmentDataBytes, type Fragment } from '../../format/snapshot.ts';
import { needOf } from '../../request/computed-columns.ts';
import { AHEAD } from '../scan/meters.ts';
import { batchCount } from '../scan/pruning.ts';
import type { QueryPlan } from './plan.ts';

/** Bytes that an answer reserves at least; also if it reads rows that an index found. */
const LEAST_BYTES = 2 ** 20;
/** Files that are looked at: batches of one table have similar sizes. */
const FILES = 4;

/** Memory that an answer takes before it reads. */
export interface ReservedBytes {
  /** Estimated bytes that the work holds at once. */
  readonly reserved: number;
  /** Whether the work reads ahead, so that it holds them as long as it runs. */
  readonly isKept: boolean;
}

/** Estimates the memory of a query by the batches that it reads. */
export function reservedBytes(plan: QueryPlan): ReservedBytes {
  const { files, filter, nearest, text, sort, need, filterNeed, snapshot } = plan;
  const passesOn = filter === null && nearest === null && text === null && sort === null;
  const names = [...filterNeed.stored, ...need.stored];
  let most = 0;
  for (const { fragment, lookup, chosen } of files.slice(0, FILES)) {
    if (lookup === undefined && chosen === undefined)
      most = Math.max(most, batchBytes(snapshot.schema, fragment, names));
  }
  // The batch in use, those read ahead, and one that is made of it.
  const batches = passesOn ? 1 : AHEAD + 2;
  return { reserved: Math.max(LEAST_BYTES, most * batches), isKept: !passesOn };
}

/** Estimated bytes of some columns of a fragment's batch. */
function batchBytes(schema: Schema, fragment: Fragment, names: readonly string[]): number {
  const batches = Math.max(1, batchCount(fragment) ?? 1);
  if (fragmentDataBytes(fragment) / batches <= LEAST_BYTES) return LEAST_BYTES;
  return columnBytes(schema, [fragment], names) / batches;
}

/**
 * Estimated bytes of columns in some files: exact for fixed-width types, an equal share of the rest
 * otherwise.
 */
export function columnBytes(
  schema: Schema,
  fragments: readonly Fragment[],
  names: readonly string[],
): number {
  const { fields } = schema;
  const rows = fragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);
  const total = fragments.reduce((sum, fragment) => sum + fragmentDataBytes(fragment), 0);
  const widths = fields.map(({ type }) => fixedWidth(type));
  const fixedBytes = widths.reduce<number>((sum, width) => sum + (width ?? 0), 0) * rows;
  const unknown = widths.filter((width) => width === null).length;
  const share = Math.max(0, total - fixedBytes) / Math.max(1, unknown);
  const wanted = new Set(needOf(schema, names).stored);
  return fields.reduce(
    (sum, { name }, at) => sum + (wanted.has(name) ? bytesAt(widths[at] ?? null, rows, share) : 0),
    0,
  );
}

function bytesAt(width: number | null, rows: number, share: number): number {
  return width === null ? share : width * rows;
}

function fixedWidth(type: DataType): number | null {
  if (layoutOf(type) === 'fixed') return widthOf(type);
  if (!DataType.isFixedSizeList(type)) return null;
  const item = fixedWidth(type.valueType);
  return item === null ? null : item * type.listSize;
}
