import { schemaOf } from '../../arrow/nested-type.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { RecordBatch, Schema } from 'apache-arrow';
import { ownStatement, type Statement } from '../base/statement.ts';
import { needOf, ROW_OFFSET } from '../request/computed-columns.ts';
import { Pace } from '../base/pace.ts';
import { allFiles } from '../query/plan/plan.ts';
import { readAhead } from '../query/scan/meters.ts';
import { Scanner, type ScanFile } from '../query/scan/scan.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { checkConforms, sameSchema, type Incoming } from '../format/incoming.ts';
import type { Snapshot, IndexDefinition } from '../format/snapshot.ts';
import { both } from './kept-rows.ts';
import { withoutComputed } from './computed-rows.ts';
import type { Derive } from './derived-commit.ts';
import { FragmentMemo } from './fragment-memo.ts';
import {
  bindPairCondition,
  bindRowCondition,
  conditionColumns,
  type MergeRequest,
} from './merge-condition.ts';
import { mergeKey } from './merge-key.ts';
import { matchBatch, matchNames, type MatchedBatch, type MergePlan } from './merge-match.ts';
import { MergeOutcome } from './merge-outcome.ts';
import { MergeSource } from './merge-source.ts';
import { MergeWriter } from './merge-writer.ts';
import { RowRemoval } from './row-removal.ts';
import { requireJudged } from './update-rows.ts';
import { requireVisible, type VisibleChange } from './visible-change.ts';
import type { VisibleTable } from '../query/restrict/visible-rows.ts';
import { rowAt } from '../query/scan/rows.ts';
import type { IndexSearch } from '../index/vectors/predicate-search.ts';
import { withLookups } from '../query/scan/pruning.ts';
import { membershipTest } from '../../sql/membership-test.ts';
import type { KeyValues } from './key-values.ts';

/** Indices are used if at most one of this number of rows is matched. */
const FEW = 8;

/** Adds lookups of the keys to files. All rows are read without an index and for many keys. */
function withKeyLookups(
  base: Snapshot,
  files: readonly ScanFile[],
  keys: KeyValues,
): readonly ScanFile[] {
  const { indices = [], rows } = base;
  if (indices.length === 0 || BigInt(FEW * keys.rows) > rows) return files;
  const search = searchOf(base, indices, keys);
  return search === undefined ? files : withLookups(files, search);
}

/** Lookups of the indexed key columns: each must have one of the values. */
function searchOf(
  { schema, fieldIds }: Snapshot,
  indices: readonly IndexDefinition[],
  keys: KeyValues,
): IndexSearch | undefined {
  const operands = (keys.columns() ?? []).flatMap(({ path, values }) => {
    const at = schema.fields.findIndex(({ name }) => name === path.column);
    const column = schema.fields[at];
    const own = indices.filter(({ field }) => field === fieldIds[at]);
    const index = own.find(({ type }) => type === 'BTREE') ?? own.find(isBitmap);
    if (column === undefined || index === undefined) return [];
    const test = membershipTest(column, values);
    return [{ kind: 'leaf', index, column, test, narrow: true } as const];
  });
  // Selective lookups come first: few rows remain for the others.
  const sorted = operands.toSorted(
    (one, other) => Number(isBitmap(one.index)) - Number(isBitmap(other.index)),
  );
  return sorted.length === 0 ? undefined : { kind: 'and', operands: sorted, whole: false };
}

function isBitmap({ type }: IndexDefinition): boolean {
  return type === 'BITMAP';
}

/** Numbers of rows changed by a merge. */
export interface MergeCounts {
  readonly updated: number;
  readonly inserted: number;
  readonly removed: number;
}

/** Parts of a merge. */
interface MergeOptions {
  readonly reader: FragmentReader;
  /** The table at the start of the merge. */
  readonly base: Snapshot;
  readonly request: MergeRequest;
  readonly incoming: Incoming;
  /** Source bytes held in memory before they are written to a file. */
  readonly inMemory?: number;
  /** Shared state of conditions and computed columns. */
  readonly statement?: Statement;
  /** How a caller changes the table whom restrictions bind. */
  readonly visible?: VisibleMerge | undefined;
}

/** A merge with the rows that a caller sees. */
export interface VisibleMerge extends VisibleChange {
  /** Columns that the caller sees, which keys and conditions may name. */
  readonly schema: Schema;
}

/** A merge whose source rows were read. It holds them until it is closed. */
export class RowMerge {
  readonly #reader: FragmentReader;
  readonly #request: MergeRequest;
  readonly #plan: MergePlan;
  readonly #source: MergeSource;
  readonly #memo = new FragmentMemo<MatchedBatch>();
  readonly #removal: RowRemoval;
  readonly #statement: Statement;
  /** Columns of the table. */
  readonly #table: Schema;
  readonly #visible: VisibleChange | undefined;

  private constructor(
    { reader, request, base, visible, statement = ownStatement() }: MergeOptions,
    plan: MergePlan,
    source: MergeSource,
  ) {
    this.#statement = statement;
    this.#table = base.schema;
    this.#visible = visible;
    this.#reader = reader;
    this.#request = request;
    this.#plan = plan;
    this.#source = source;
    this.#removal = new RowRemoval(reader);
  }

  /**
   * Plans a merge and reads its rows. Columns that are not sent keep their values
   * where rows are updated, and are null where they are inserted.
   * @throws CatalogError for what does not fit the table, and for a damaged stream.
   */
  static async open(options: MergeOptions): Promise<RowMerge> {
    const { base, request, incoming, inMemory, visible, statement = ownStatement() } = options;
    const schema = sentSchema(incoming.schema, base.schema, request);
    const plan = planMerge(request, visible?.schema ?? base.schema, schema, statement);
    const source = new MergeSource({
      table: base,
      schema,
      key: plan.key,
      atHand: plan.updateIf === null ? [] : conditionColumns(plan.updateIf, 'source'),
      checkTime: request.checkTime,
      budget: statement.budget,
      inMemory,
    });
    try {
      await source.read(incoming.batches);
      return new RowMerge({ ...options, statement }, plan, source);
    } catch (error) {
      await source.close();
      throw error;
    }
  }

  /** Merges the rows into a version. */
  readonly derive: Derive<MergeCounts> = async (base, wrote, flushes) => {
    if (!sameSchema(base.schema, this.#table)) {
      throw new CatalogError('ConcurrentModification', "the table's schema was changed meanwhile");
    }
    const { batches, check } =
      this.#visible === undefined
        ? { batches: await this.#match(base) }
        : await this.#matchVisible(base, this.#visible);
    const outcome = new MergeOutcome(this.#plan, this.#source, batches);
    const statement = this.#statement;
    const writer = new MergeWriter(this.#reader, base, this.#source, outcome, statement, check);
    const [added, left] = await both(
      writer.write(wrote, flushes),
      this.#removal.without(base, outcome.goneOf(), wrote, flushes),
    );
    const { updated, inserted, removed } = outcome;
    return {
      fragments: [...left, ...added],
      nextRowId: base.nextRowId + BigInt(inserted),
      result: { updated, inserted, removed },
    };
  };

  async close(): Promise<void> {
    await this.#source.close();
  }

  async #match(base: Snapshot): Promise<readonly MatchedBatch[]> {
    const files = allFiles(base);
    const need = needOf(base.schema, matchNames(this.#plan));
    const fresh = this.#memo.begin(base, files, need.placed.includes(ROW_OFFSET));
    const pace = new Pace();
    const read = this.#plan.remove ? fresh : this.#mayMatch(base, fresh);
    const scanned = new Scanner(this.#reader, base).scan(read, need);
    for await (const { place, batch, release } of readAhead(scanned)) {
      this.#request.checkTime();
      const matched = await matchBatch(this.#plan, this.#source, place, batch);
      release?.();
      this.#memo.add(matched);
      await pace.turn();
    }
    const all = files.flatMap(({ fragment }) => this.#memo.of(fragment));
    return all.filter(({ keys, removed }) => keys.length + removed.length > 0);
  }

  /** The same among the rows that the caller sees, and the check of the rows that are written. */
  async #matchVisible(base: Snapshot, change: VisibleChange) {
    const table = await change.table(base);
    const { bound, rows } = table;
    const { snapshot } = rows;
    const sent = this.#source.schema.fields.map(({ name }) => name);
    if (this.#plan.update) requireJudged(base.schema, sent, bound, change);
    const need = needOf(snapshot.schema, matchNames(this.#plan));
    const pace = new Pace(this.#statement.budget);
    const batches: MatchedBatch[] = [];
    const scanned = new Scanner(rows, snapshot).scan(allFiles(snapshot), need);
    for await (const { place, batch, release } of readAhead(scanned)) {
      this.#request.checkTime();
      const matched = await matchBatch(this.#plan, this.#source, place, batch);
      release?.();
      if (matched.keys.length + matched.removed.length > 0) {
        batches.push(await storedMatch(table, matched));
      }
      await pace.turn();
    }
    const check = (batch: RecordBatch): Promise<void> => requireVisible(batch, bound, change);
    return { batches, check };
  }

  /** Unmatched target rows matter only for deletion. */
  #mayMatch(base: Snapshot, files: readonly ScanFile[]): readonly ScanFile[] {
    const { ranges, values } = this.#source;
    const few = ranges.filesWithMatches(base, files);
    return this.#request.useIndex ? withKeyLookups(base, few, values) : few;
  }
}

/** What was matched among visible rows, by the places where they are stored. */
async function storedMatch(table: VisibleTable, matched: MatchedBatch): Promise<MatchedBatch> {
  const stored = async (rows: Uint32Array) => {
    const found = await table.stored(matched.place, { kind: 'list', rows });
    const row = rowAt(found.rows);
    return { place: found.place, rows: Uint32Array.from(rows, (_, at) => row(at)) };
  };
  const { place, rows: updated } = await stored(matched.updated);
  return { ...matched, place, updated, removed: (await stored(matched.removed)).rows };
}

/**
 * Columns of the table that are sent, in table order.
 * @throws CatalogError TableSchemaValidationError for a column that the table lacks or has in
 * another type, and for a missing one that may not be null in new rows.
 */
function sentSchema(sent: Schema, table: Schema, { insert }: MergeRequest): Schema {
  const names = new Set(sent.fields.map(({ name }) => name));
  const fields = table.fields.filter(({ name }) => names.has(name));
  const schema = schemaOf(fields, table.metadata);
  checkConforms(sent, insert ? withoutComputed(table, names) : schema);
  return schema;
}

function planMerge(
  request: MergeRequest,
  table: Schema,
  sent: Schema,
  statement: Statement,
): MergePlan {
  const { updateIf, removeIf, update, insert, remove } = request;
  return {
    table,
    key: mergeKey(request.on, table, sent),
    update,
    updateIf:
      updateIf === null
        ? null
        : bindPairCondition('when_matched_update_all_filt', updateIf, sent, table, statement),
    insert,
    remove,
    removeIf:
      removeIf === null
        ? null
        : bindRowCondition('when_not_matched_by_source_delete_filt', removeIf, table, statement),
  };
}
