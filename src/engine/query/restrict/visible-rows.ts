import { Schema, type Data, type RecordBatch } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { batchOfColumns, take } from '../../../arrow/select.ts';
import type { OpenPart, VirtualPart } from '../../../protocol/virtual-table.ts';
import type { Fragment, IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import type { BatchSource } from '../scan/batch-source.ts';
import { countOf, fewOf, listed, rowAt, type Rows } from '../scan/rows.ts';
import type { Place } from '../scan/place.ts';
import { VirtualRows } from '../scan/virtual-rows.ts';
import { asVisible, type VisibleSnapshot } from '../scan/visible-snapshot.ts';
import type { BoundRestrictions } from './bound-restrictions.ts';
import {
  judgedParts,
  storedPlaces,
  setRows,
  type JudgedBatch,
  type JudgedPart,
  type RowVerdicts,
} from './row-verdicts.ts';

/** A version of a table and where its rows are read. */
export interface StoredRows {
  readonly snapshot: Snapshot;
  readonly reader: BatchSource;
  /** Opens a reader of its own for each reader of the visible rows; they share one if absent. */
  readonly open?: () => BatchSource & { close(): Promise<void> };
  /** Keeps which rows are visible, for versions whose objects are used again. */
  readonly judged?: RowVerdicts | undefined;
}

/** The rows of a version that a caller may see, and where they are stored. */
export interface VisibleTable {
  readonly bound: BoundRestrictions;
  readonly rows: VirtualRows;
  /** The stored place of some visible rows of a batch. */
  stored(place: Place, rows: Rows): Promise<{ readonly place: Place; readonly rows: Rows }>;
}

/** A snapshot for a caller whom no restriction binds. */
export function unrestricted(snapshot: Snapshot, _restrictions: null): VisibleSnapshot {
  return asVisible(snapshot);
}

/**
 * The rows of a version that a caller may see, as a table of their own: hidden rows are not in it,
 * masked columns have their masks, and it has no statistics and no index of other rows. Whatever is
 * planned over it is of what the caller may see.
 * @throws CatalogError PermissionDenied for a row filter that fails on a row
 */
export async function visibleTable(
  stored: StoredRows,
  bound: BoundRestrictions,
): Promise<VisibleTable> {
  const { snapshot, reader, judged } = stored;
  const judge = () => judgedParts(snapshot, reader, bound);
  const parts = await (judged === undefined ? judge() : judged.of(snapshot, bound, judge));
  const table = {
    path: bound.object,
    schema: bound.schema,
    parts: async () => parts.map((part) => virtualPart(stored, bound, part)),
  };
  const { version, timestampMillis } = snapshot;
  const indices = visibleIndices(snapshot, bound);
  const rows = await VirtualRows.of(table, { version, timestampMillis, indices });
  return {
    bound,
    rows,
    stored: (place, some) => {
      const { fragment, batches } = parts[rows.snapshot.fragments.indexOf(place.fragment)]!;
      return storedPlace(stored, snapshot.fragments[fragment]!, batches[place.index]!, some);
    },
  };
}

async function storedPlace(
  { snapshot, reader }: StoredRows,
  fragment: Fragment,
  { index, bits, count }: JudgedBatch,
  rows: Rows,
): Promise<{ readonly place: Place; readonly rows: Rows }> {
  const { batch, rowIds, start, live, before, release } = await reader.batch(
    snapshot,
    fragment,
    index,
    [],
  );
  const place = { fragment, index, rowIds, offset: before, rows: batch.numRows, start, live };
  release?.();
  if (bits === null) return { place, rows };
  const visible = setRows(bits, count);
  const row = rowAt(rows);
  const some = Uint32Array.from({ length: countOf(rows) }, (_, at) => visible[row(at)]!);
  return { place, rows: listed(some, place.rows) };
}

/** Indices by which a search chooses its distance or its tokens, of columns that the caller sees. */
function visibleIndices(
  { indices = [], schema, fieldIds }: Snapshot,
  { schema: seen }: BoundRestrictions,
): readonly IndexDefinition[] {
  return indices.flatMap((index) => {
    const name = schema.fields[fieldIds.indexOf(index.field)]?.name;
    const field = seen.fields.findIndex((each) => each.name === name);
    return field < 0 ? [] : [{ ...index, field }];
  });
}

function virtualPart(
  stored: StoredRows,
  bound: BoundRestrictions,
  { fragment, batches }: JudgedPart,
): VirtualPart {
  const own = stored.snapshot.fragments[fragment]!;
  const batchRows = batches.map(({ count }) => count);
  const open = (): OpenPart => {
    const reader = stored.open?.();
    const source = { ...stored, reader: reader ?? stored.reader };
    return {
      batchRows,
      read: (index, columns) => readVisible(source, bound, own, batches[index]!, columns),
      pick: (index, columns, rows) =>
        pickVisible(source, bound, own, batches[index]!, columns, rows),
      close: async () => reader?.close(),
    };
  };
  return {
    rows: batchRows.reduce((sum, count) => sum + count, 0),
    bounds: new Map(),
    open: async () => open(),
  };
}

const NOTHING = new Schema([]);

/** The visible rows of a batch, masked. */
async function readVisible(
  { snapshot, reader }: StoredRows,
  bound: BoundRestrictions,
  fragment: Fragment,
  { index, bits, count }: JudgedBatch,
  names: readonly string[],
): Promise<RecordBatch> {
  const stored = storedColumns(bound, names);
  if (stored.length === 0) return maskedRows(bound, names, batchOfData(NOTHING, [], count));
  const found = await reader.batch(snapshot, fragment, index, stored);
  const picked = bits === null ? found.batch : take(found.batch, setRows(bits, count));
  const batch = await maskedRows(bound, names, picked);
  if (bits !== null) found.release?.();
  return batch;
}

/** Some of the visible rows of a batch, masked. Nothing else is copied. */
async function pickVisible(
  { snapshot, reader }: StoredRows,
  bound: BoundRestrictions,
  fragment: Fragment,
  { index, bits, count }: JudgedBatch,
  names: readonly string[],
  rows: Uint32Array,
): Promise<RecordBatch> {
  const places = bits === null ? rows : storedPlaces(bits, rows);
  const columns = storedColumns(bound, names);
  const range = fewOf(listed(places, Infinity), bits === null ? count : 8 * bits.length);
  const found = await reader.batch(snapshot, fragment, index, columns, range);
  const own = found.skipped === 0 ? places : places.map((place) => place - found.skipped);
  const picked = take(found.batch, own);
  const batch = await maskedRows(bound, names, picked);
  found.release?.();
  return batch;
}

/** Columns that are read to show some; the others have masks that need no values. */
export function storedColumns(
  { columns }: BoundRestrictions,
  names: readonly string[],
): readonly string[] {
  return names.filter((name) => columns.get(name)!.masking?.reads !== false);
}

/**
 * Rows as the caller sees them.
 * @param names Columns of the result.
 * @param stored Rows that the caller may see, with the columns that `storedColumns` names.
 */
export async function maskedRows(
  bound: BoundRestrictions,
  names: readonly string[],
  stored: RecordBatch,
): Promise<RecordBatch> {
  const { columns, schema, statement } = bound;
  const rows = stored.numRows;
  const read = storedColumns(bound, names);
  const values = new Map(read.map((name, at) => [name, stored.data.children[at]!]));
  const data: Data[] = [];
  for (const name of names) {
    const { masking } = columns.get(name)!;
    const column = values.get(name) ?? null;
    data.push(
      masking === null ? column! : await statement.budget.run(() => masking.apply(column, rows)),
    );
  }
  const own = schemaOf(
    names.map((name) => columns.get(name)!.field),
    schema.metadata,
  );
  return data.length === 0 ? batchOfData(own, [], rows) : batchOfColumns(own, data, rows);
}
