import { restrictionReasons } from '../../protocol/restriction-reasons.ts';
import type { Data, RecordBatch } from 'apache-arrow';
import { fieldPosition } from '../../arrow/field-position.ts';
import type { BoundRestrictions } from '../query/restrict/bound-restrictions.ts';
import { coalesce } from '../query/scan/rows.ts';
import { needOf, ROW_ID, ROW_OFFSET, withComputed } from '../request/computed-columns.ts';
import { predicateFormula } from '../request/formula.ts';
import { Pace } from '../base/pace.ts';
import { ownStatement, type Statement, type Formula } from '../base/statement.ts';
import { Scanner } from '../query/scan/scan.ts';
import type { Flushes } from '../../storage/flushes.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import type { WrittenFile } from '../format/fragment-writer.ts';
import { ingest } from '../format/ingest.ts';
import type { Fragment, Snapshot } from '../format/snapshot.ts';
import { assignedData, bindUpdates, type Assignment, type Update } from './assignment.ts';
import { both, keptBatch, keptFragment, keptSchema } from './kept-rows.ts';
import { computedAssignment, ComputedColumns } from './computed-values.ts';
import type { Derive } from './derived-commit.ts';
import { RowRemoval, type Wrote } from './row-removal.ts';
import { physicalRows, RowFinder, type FoundFragment } from './row-finder.ts';
import { pairs } from '../base/items.ts';
import {
  findVisible,
  requireVisible,
  requireOwnColumns,
  restrictedColumns,
  storedRowsOf,
  type ChangeRefusals,
  type VisibleChange,
} from './visible-change.ts';

/** An update; of all rows without a predicate. */
interface UpdateRequest {
  readonly predicate: string | null;
  readonly updates: readonly Update[];
}

/**
 * Gives columns of some rows new values. The rows keep their ids; they are written
 * again, behind all others.
 * @returns How many rows it updated.
 * @throws CatalogError TableColumnNotFound, InvalidInput or TableSchemaValidationError
 * for what is wrong with the request, and for a value that a column cannot hold.
 */
export function updateRows(
  reader: FragmentReader,
  request: UpdateRequest,
  // The same time for all attempts.
  statement = ownStatement(),
): Derive<bigint> {
  const finder = new RowFinder(reader);
  const rewriter = new Rewriter(reader);
  const removal = new RowRemoval(reader);
  return async (base, wrote, flushes) => {
    const fields = withComputed(base.schema, [ROW_ID, ROW_OFFSET]);
    const assignments = bindUpdates(request.updates, base.schema, statement);
    const predicate = predicateOf(request, fields, statement);
    const found = await finder.find(base, predicate);
    const old = new Map(found.map((each) => [each.fragment, physicalRows(each.found)]));
    const [updated, left] = await both(
      rewriter.rewrite(base, found, assignments, { wrote, flushes, statement }),
      removal.without(base, old, wrote, flushes),
    );
    const result = [...old.values()].reduce((sum, rows) => sum + BigInt(rows.length), 0n);
    return { fragments: [...left, ...updated], nextRowId: base.nextRowId, result };
  };
}

function predicateOf(
  { predicate }: UpdateRequest,
  fields: Parameters<typeof predicateFormula>[2],
  statement: Statement,
): Formula | null {
  return predicate === null ? null : predicateFormula('predicate', predicate, fields, statement);
}

interface Rewriting {
  readonly wrote: Wrote;
  readonly flushes: Flushes;
  readonly statement: Statement;
}

/**
 * The same for a caller whom restrictions bind: predicate and expressions are of what the caller sees,
 * and only rows that the caller sees are updated.
 * @throws CatalogError PermissionDenied for a column that is masked or hidden, and for rows that
 * would be hidden.
 */
export function updateVisibleRows(
  reader: FragmentReader,
  { predicate, updates }: UpdateRequest,
  statement: Statement,
  change: VisibleChange,
): Derive<bigint> {
  return async (base, wrote, flushes) => {
    const table = await change.table(base);
    requireOwnColumns(updatedColumns(updates, base.schema), table.bound, change);
    const visible = table.rows.snapshot;
    const assignments = bindUpdates(updates, visible.schema, statement);
    const names = assignments.map(({ field }) => field.name);
    const judges = requireJudged(base.schema, names, table.bound, change);
    const found = await findVisible(table, predicate, statement);
    const stored = new Scanner(reader, base);
    const seen = new Scanner(table.rows, visible);
    const need = needOf(base.schema, namesRead(base, assignments, false));
    const asked = needOf(
      visible.schema,
      assignments.flatMap(({ formula }) => formula.columns),
    );
    const computed = new ComputedColumns(base.schema, staysAsItIs(assignments), statement);
    const batches = async function* (): AsyncGenerator<RecordBatch> {
      const pace = new Pace(statement.budget);
      for (const each of found) {
        const old = await stored.read(each.stored.place, need, each.stored.rows);
        const own = await seen.read(each.visible.place, asked, each.visible.rows);
        const batch = await updated(base, assignments, computed, old, own);
        if (judges) await requireVisible(batch, table.bound, change);
        yield batch;
        await pace.turn();
      }
    };
    const files = await ingest(base, keptSchema(base.schema), coalesce(batches()), flushes);
    wrote(files.map(({ file }) => file));
    const old = storedRowsOf(found);
    const left = await new RowRemoval(reader).without(base, old, wrote, flushes);
    const fresh = files.map((file) => keptFragment(file, base.fieldIds));
    const result = [...old.values()].reduce((sum, rows) => sum + BigInt(rows.length), 0n);
    return { fragments: [...left, ...fresh], nextRowId: base.nextRowId, result };
  };
}

/** The columns that updates name, as far as the table has them. */
export function updatedColumns(
  updates: readonly Update[],
  { fields }: Snapshot['schema'],
): readonly string[] {
  return updates.flatMap(([name]) => {
    const position = fieldPosition(fields, name);
    return position === undefined ? [] : [fields[position]!.name];
  });
}

/**
 * Whether the row filter depends on columns that a change writes, so that the rows are judged again.
 * @throws CatalogError PermissionDenied if the verdict, or a computed column, would tell masked or
 * hidden values of the rows.
 */
export function requireJudged(
  schema: Snapshot['schema'],
  names: readonly string[],
  bound: BoundRestrictions,
  { refusal }: ChangeRefusals,
): boolean {
  const restricted = restrictedColumns(bound);
  const written = new Set(names);
  for (const field of schema.fields) {
    const reads = written.has(field.name)
      ? []
      : (computedAssignment(field, schema)?.formula.columns ?? []);
    if (!reads.some((name) => written.has(name))) continue;
    written.add(field.name);
    if (reads.some((name) => restricted.has(name))) {
      throw refusal(restrictionReasons.computedColumn(JSON.stringify(field.name)));
    }
  }
  const filtered = bound.filter?.columns ?? [];
  const judges = filtered.some((name) => written.has(name));
  if (judges && filtered.some((name) => restricted.has(name))) {
    throw refusal(restrictionReasons.filterColumn());
  }
  return judges;
}

/** Writes updated rows; those of unchanged fragments are not written again. */
class Rewriter {
  readonly #reader: FragmentReader;
  #done = new Set<string>();
  #files: readonly WrittenFile[] = [];

  constructor(reader: FragmentReader) {
    this.#reader = reader;
  }

  async rewrite(
    base: Snapshot,
    found: readonly FoundFragment[],
    assignments: readonly Assignment[],
    { wrote, flushes, statement }: Rewriting,
  ): Promise<readonly Fragment[]> {
    const keys = new Set(found.map(({ key }) => key));
    if ([...this.#done].some((key) => !keys.has(key)) || readsOffset(assignments)) this.#forget();
    const fresh = found.filter(({ key }) => !this.#done.has(key));
    const batches = coalesce(this.#batches(base, fresh, assignments, statement));
    const files = await ingest(base, keptSchema(base.schema), batches, flushes);
    wrote(files.map(({ file }) => file));
    this.#files = [...this.#files, ...files];
    this.#done = keys;
    return this.#files.map((file) => keptFragment(file, base.fieldIds));
  }

  #forget(): void {
    this.#done = new Set();
    this.#files = [];
  }

  async *#batches(
    base: Snapshot,
    found: readonly FoundFragment[],
    assignments: readonly Assignment[],
    statement: Statement,
  ): AsyncGenerator<RecordBatch> {
    const scanner = new Scanner(this.#reader, base);
    const need = needOf(base.schema, namesRead(base, assignments));
    const computed = new ComputedColumns(base.schema, staysAsItIs(assignments), statement);
    const pace = new Pace();
    for (const { place, rows } of found.flatMap((each) => each.found)) {
      yield await updated(base, assignments, computed, await scanner.read(place, need, rows));
      await pace.turn();
    }
  }
}

/** Columns to read: those that are kept or used for new values. */
function namesRead(
  { schema }: Snapshot,
  assignments: readonly Assignment[],
  expressions = true,
): readonly string[] {
  const replaced = new Set(assignments.map(({ field }) => field.name));
  const retained = schema.fields.map(({ name }) => name).filter((name) => !replaced.has(name));
  const used = expressions ? assignments.flatMap(({ formula }) => formula.columns) : [];
  return [...retained, ROW_ID.name, ...used];
}

function readsOffset(assignments: readonly Assignment[]): boolean {
  return assignments.some(({ formula }) => formula.columns.includes(ROW_OFFSET.name));
}

/** A computed column changes with the columns that it reads, unless it is updated itself. */
function staysAsItIs(assignments: readonly Assignment[]): (one: Assignment) => boolean {
  const updates = new Set(assignments.map(({ field }) => field.name));
  return ({ field, formula }) =>
    updates.has(field.name) || formula.columns.every((name) => !updates.has(name));
}

/** @param read The rows that expressions read; those of the batch by default. */
async function updated(
  { schema }: Snapshot,
  assignments: readonly Assignment[],
  computed: ComputedColumns,
  batch: RecordBatch,
  read = batch,
): Promise<RecordBatch> {
  const columns = new Map(
    pairs(batch.schema.fields, batch.data.children).map(([{ name }, data]) => [name, data]),
  );
  const columnOf = (name: string): Data => {
    const data = fresh.get(name) ?? columns.get(name);
    if (data === undefined) throw new Error(`the column ${name} was not read`);
    return data;
  };
  const fresh = new Map<string, Data>();
  for (const each of assignments) fresh.set(each.field.name, await assignedData(each, read));
  const children = schema.fields.map(({ name }) => columnOf(name));
  const filled = await computed.filled(children, batch.numRows);
  return keptBatch(schema, filled, columnOf(ROW_ID.name));
}
