import type { Data, RecordBatch } from 'apache-arrow';
import { getBit, setBit } from '../../../arrow/bitmap.ts';
import { batchOfData } from '../../../arrow/data.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { batchOfColumns, take } from '../../../arrow/select.ts';
import type { OpenPart, VirtualPart } from '../../../protocol/virtual-table.ts';
import { Pace } from '../../base/pace.ts';
import type { Fragment, IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import { needOf } from '../../request/computed-columns.ts';
import { rowsInThread } from '../../request/formula.ts';
import type { BatchSource } from '../scan/fragment-reader.ts';
import { AHEAD, readAhead } from '../scan/meters.ts';
import { prunedFiles } from '../scan/pruning.ts';
import { countOf, listed, rowAt, type Rows } from '../scan/rows.ts';
import { Scanner, type Place, type PlacedBatch, type ScanFile } from '../scan/scan.ts';
import { VirtualRows } from '../scan/virtual-rows.ts';
import { asVisible, type VisibleSnapshot } from '../scan/visible-snapshot.ts';
import { closing, type BoundRestrictions } from './bound-restrictions.ts';

/** A version of a table and where its rows are read. */
export interface StoredRows {
  readonly snapshot: Snapshot;
  readonly reader: BatchSource;
  /** Opens a reader of its own for each reader of the visible rows; they share one if absent. */
  readonly open?: () => BatchSource & { close(): Promise<void> };
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
 * planned over it is of what the caller may see. Rows are judged now, with the columns of the row
 * filters alone; the memory is a bit per row.
 * @throws CatalogError PermissionDenied for a row filter that fails on a row
 */
export async function visibleTable(
  stored: StoredRows,
  bound: BoundRestrictions,
): Promise<VisibleTable> {
  const { snapshot } = stored;
  const parts = await judgedParts(stored, bound);
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
      const part = parts[rows.snapshot.fragments.indexOf(place.fragment)]!;
      return storedPlace(stored, part.fragment, part.batches[place.index]!, some);
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

/** Rows of a stored batch that the caller may see. */
interface JudgedBatch {
  /** Position of the batch in its file. */
  readonly index: number;
  /** How many of its rows are visible; at least one. */
  readonly count: number;
  /** A bit for each of its rows; null if all are visible. */
  readonly bits: Uint8Array | null;
}

/** Rows of a stored fragment that the caller may see. */
interface JudgedPart {
  readonly fragment: Fragment;
  readonly batches: JudgedBatch[];
}

async function judgedParts(
  { snapshot, reader }: StoredRows,
  bound: BoundRestrictions,
): Promise<readonly JudgedPart[]> {
  const { filter, statement } = bound;
  const scanner = new Scanner(reader, snapshot);
  const need = needOf(snapshot.schema, filter?.columns ?? []);
  const pace = new Pace(statement.budget);
  const parts = new Map<Fragment, JudgedPart>();
  for await (const found of readAhead(scanner.scan(filesOf(snapshot, bound), need, AHEAD))) {
    statement.signal().throwIfAborted();
    const batch = await judgedBatch(found, bound);
    found.release?.();
    await pace.turn();
    if (batch === null) continue;
    const { fragment } = found.place;
    const part = parts.get(fragment) ?? { fragment, batches: [] };
    parts.set(fragment, part);
    part.batches.push(batch);
  }
  return [...parts.values()];
}

/** Files that may hold visible rows. Statistics of a file narrow it; its indices are not asked. */
function filesOf(snapshot: Snapshot, { filter }: BoundRestrictions): readonly ScanFile[] {
  const all = snapshot.fragments.map((fragment) => ({ fragment, offset: 0 }));
  if (filter === null) return all;
  return prunedFiles(snapshot, all, filter).map((file) => ({ ...file, lookup: undefined }));
}

async function judgedBatch(
  { batch, place, certain }: PlacedBatch,
  bound: BoundRestrictions,
): Promise<JudgedBatch | null> {
  const { index } = place;
  const { numRows } = batch;
  if (numRows === 0) return null;
  const rows = certain === true ? null : await seenRows(batch, bound);
  if (rows === null || rows.length === numRows) return { index, count: numRows, bits: null };
  if (rows.length === 0) return null;
  bound.statement.budget.charge(numRows / 8);
  const bits = new Uint8Array(Math.ceil(numRows / 8));
  for (const row of rows) setBit(bits, row);
  return { index, count: rows.length, bits };
}

/**
 * Positions of the rows of a batch that the caller may see, ascending; null for all.
 * @param batch With the columns of the row filters.
 * @throws CatalogError PermissionDenied for a row filter that fails on a row
 */
export async function seenRows(
  batch: RecordBatch,
  { filter, restrictions, object, statement: { budget } }: BoundRestrictions,
): Promise<Uint32Array | null> {
  if (filter === null) return null;
  try {
    return await budget.run(() => rowsInThread(filter, batch));
  } catch (error) {
    throw closing(error, restrictions.rows[0]?.restriction ?? '', object);
  }
}

function virtualPart(
  stored: StoredRows,
  bound: BoundRestrictions,
  { fragment, batches }: JudgedPart,
): VirtualPart {
  const batchRows = batches.map(({ count }) => count);
  const open = (): OpenPart => {
    const own = stored.open?.();
    const source = { ...stored, reader: own ?? stored.reader };
    return {
      batchRows,
      read: (index, columns) => readVisible(source, bound, fragment, batches[index]!, columns),
      close: async () => own?.close(),
    };
  };
  return {
    rows: batchRows.reduce((sum, count) => sum + count, 0),
    bounds: new Map(),
    open: async () => open(),
  };
}

/** The visible rows of a batch, masked. */
async function readVisible(
  { snapshot, reader }: StoredRows,
  bound: BoundRestrictions,
  fragment: Fragment,
  { index, bits, count }: JudgedBatch,
  names: readonly string[],
): Promise<RecordBatch> {
  const found = await reader.batch(snapshot, fragment, index, storedColumns(bound, names));
  const picked = bits === null ? found.batch : take(found.batch, setRows(bits, count));
  const batch = await maskedRows(bound, names, picked);
  if (bits !== null) found.release?.();
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

/** Positions of set bits, ascending. */
function setRows(bits: Uint8Array, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0, at = 0; at < count; row++) if (getBit(bits, row)) rows[at++] = row;
  return rows;
}
