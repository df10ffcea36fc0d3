import {
  makeData,
  makeVector,
  Uint64,
  type Field,
  type RecordBatch,
  type Vector,
} from 'apache-arrow';
import { projectColumns, withColumn } from '../../../arrow/select.ts';
import type { CandidateBatch } from '../../index/keys/candidates.ts';
import type { Fragment } from '../../format/snapshot.ts';
import { ROW_ID, type ColumnNeed } from '../../request/computed-columns.ts';
import type { PickedRows } from './batch-source.ts';
import { idsOf, type RowIds } from './live-rows.ts';
import { countOf, rowAt, type Rows } from './rows.ts';

/** Place of a batch in its table. */
export interface Place {
  readonly fragment: Fragment;
  /** Position of the batch in its file. */
  readonly index: number;
  readonly rowIds: RowIds;
  /** Number of rows of the table before its first. */
  readonly offset: number;
  readonly rows: number;
  /** Position in the data file of the batch's first physical row. */
  readonly start: number;
  /** Live physical rows of the batch, ascending; null for all. */
  readonly live: Uint32Array | null;
  /**
   * For rows chosen by an index: the number of live rows of the batch before each. The rows are
   * numbered among themselves, and `live` holds only these.
   */
  readonly ranks?: Uint32Array | undefined;
  /** The rows with their columns, if they are few. */
  readonly retained?: RecordBatch | undefined;
  /** The places of the rows' batches, where the rows of several were read together. */
  readonly parts?: readonly Place[] | undefined;
}

/** The place of rows of one batch, whose ids are not known yet. */
export function chosenPlace(
  fragment: Fragment,
  offset: number,
  { index, start, rows, before, ranks }: CandidateBatch,
): Place {
  return {
    fragment,
    index,
    rowIds: { kind: 'range', first: 0n },
    offset: offset + before,
    rows: rows.length,
    start,
    live: rows,
    ranks,
  };
}

/** The place of rows of several batches that were read together, numbered among themselves. */
export function joinedPlace(
  parts: readonly [Place, ...Place[]],
  { batch, rowIds }: PickedRows,
): Place {
  const [first] = parts;
  const rows = batch.numRows;
  const [live, ranks] = [new Uint32Array(rows), new Uint32Array(rows)];
  let at = 0;
  for (const part of parts) {
    for (let row = 0; row < part.rows; row++, at++) {
      live[at] = part.start + part.live![row]!;
      ranks[at] = part.offset - first.offset + part.ranks![row]!;
    }
  }
  return { ...first, rowIds, rows, start: 0, live, ranks, retained: batch, parts };
}

/** Columns of a few rows that were kept; undefined if some are missing. */
export function retainedColumns(
  { retained }: Place,
  { stored }: ColumnNeed,
): RecordBatch | undefined {
  if (retained === undefined) return undefined;
  const { fields } = retained.schema;
  const isSame =
    stored.length === fields.length && fields.every(({ name }, at) => name === stored[at]);
  if (isSame) return retained;
  const has = (name: string) => fields.some((field) => field.name === name);
  return stored.every(has) ? projectColumns(retained, stored) : undefined;
}

export function withPlaced(
  batch: RecordBatch,
  place: Place,
  fields: readonly Field[],
  rows: Rows,
): RecordBatch {
  return fields.reduce(
    (wider, field) => withColumn(wider, field, placed(field, place, rows)),
    batch,
  );
}

/** The positions of a batch's rows in the table. */
function offsetsOf({ offset, ranks }: Place): RowIds {
  if (ranks === undefined) return { kind: 'range', first: BigInt(offset) };
  return { kind: 'list', ids: BigUint64Array.from(ranks, (rank) => BigInt(offset + rank)) };
}

function placed(field: Field, place: Place, rows: Rows): Vector {
  const ids = field === ROW_ID ? place.rowIds : offsetsOf(place);
  const data = idsOf(ids, countOf(rows), rowAt(rows));
  return makeVector(makeData({ type: new Uint64(), data }));
}
