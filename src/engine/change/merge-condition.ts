import { Field, Struct, type Data, type RecordBatch, type Schema } from 'apache-arrow';
import { batchOfData, dataOf, childData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { fieldIndex } from '../../arrow/select.ts';
import { fieldsUsed } from '../../sql/evaluate/columns.ts';
import { ROW_ID, ROW_OFFSET, withComputed } from '../request/computed-columns.ts';
import type { Statement, Formula } from '../base/statement.ts';
import { predicateFormula, rowsInThread } from '../request/formula.ts';
import { itemAt } from '../base/items.ts';

/** The rows whose columns a condition calls by the name of their side, as `source.a`. */
type Side = 'source' | 'target';

/** The columns of each side that a condition may name. */
type Sides = Readonly<Partial<Record<Side, readonly Field[]>>>;

/** A predicate over rows of one side or of both. */
export interface MergeCondition {
  readonly formula: Formula;
  /** Columns of the target that it calls by their own names. */
  readonly plain: readonly string[];
  /** Columns that it calls by their sides, for each side that it names. */
  readonly sides: ReadonlyMap<Side, readonly string[]>;
}

/**
 * Binds a condition on a row that was sent and the row of the table that it matches.
 * @throws CatalogError as `predicateFormula` does.
 */
export function bindPairCondition(
  label: string,
  text: string,
  source: Schema,
  target: Schema,
  statement: Statement,
): MergeCondition {
  return bindSides({ label, text, statement }, [], {
    source: source.fields,
    target: target.fields,
  });
}

/**
 * Binds a condition on a row of the table, whose columns may be called by their names
 * or as `target.a`.
 * @throws CatalogError as `predicateFormula` does.
 */
export function bindRowCondition(
  label: string,
  text: string,
  target: Schema,
  statement: Statement,
): MergeCondition {
  const plain = withComputed(target, [ROW_ID, ROW_OFFSET]);
  const hidden = target.fields.some(({ name }) => name === 'target');
  return bindSides({ label, text, statement }, plain, hidden ? {} : { target: target.fields });
}

/** Columns of a side that a condition reads. */
export function conditionColumns(condition: MergeCondition, side: Side): readonly string[] {
  const plain = side === 'target' ? condition.plain : [];
  return [...plain, ...(condition.sides.get(side) ?? [])];
}

interface RequestedCondition {
  readonly label: string;
  readonly text: string;
  readonly statement: Statement;
}

/** Binds it again to only the columns that it reads. */
function bindSides(
  { label, text, statement }: RequestedCondition,
  plain: readonly Field[],
  all: Sides,
): MergeCondition {
  const used = fieldsUsed(
    predicateFormula(label, text, [...plain, ...sideFields(all)], statement).bound,
  );
  const narrow: Partial<Record<Side, readonly Field[]>> = {};
  const sides = new Map<Side, readonly string[]>();
  for (const [side, fields] of entriesOf(all)) {
    const names = used.get(side);
    if (names === undefined) continue;
    const read = names === null ? fields : fields.filter(({ name }) => names.has(name));
    narrow[side] = read;
    sides.set(
      side,
      read.map(({ name }) => name),
    );
  }
  const formula = predicateFormula(label, text, [...plain, ...sideFields(narrow)], statement);
  return { formula, plain: plainNames(plain, formula), sides };
}

function plainNames(plain: readonly Field[], { columns }: Formula): readonly string[] {
  return plain.map(({ name }) => name).filter((name) => columns.includes(name));
}

function sideFields(sides: Sides): readonly Field[] {
  return entriesOf(sides).map(([side, fields]) => sideField(side, fields));
}

function entriesOf(sides: Sides): readonly (readonly [Side, readonly Field[]])[] {
  const { source, target } = sides;
  return [
    ...(source === undefined ? [] : [['source', source] as const]),
    ...(target === undefined ? [] : [['target', target] as const]),
  ];
}

function sideField(side: Side, fields: readonly Field[]): Field {
  return new Field(side, new Struct([...fields]), false);
}

/** Rows for which a condition is true, ascending. The batches have a row per pair. */
export async function rowsMeeting(
  { formula, plain, sides }: MergeCondition,
  target: RecordBatch,
  source?: RecordBatch,
): Promise<Uint32Array> {
  const columns = plain.map((name) => columnOf(target, name));
  for (const [side, names] of sides) {
    const batch = side === 'source' && source !== undefined ? source : target;
    const read = names.map((name) => columnOf(batch, name));
    const field = sideField(
      side,
      read.map(([inner]) => inner),
    );
    const children = read.map(([, data]) => data);
    const parts = { length: target.numRows, nullCount: 0, children };
    columns.push([field, dataOf(field.type, parts)]);
  }
  const schema = schemaOf(columns.map(([field]) => field));
  const data = columns.map(([, column]) => column);
  return rowsInThread(formula, batchOfData(schema, data, target.numRows));
}

function columnOf(batch: RecordBatch, name: string): [Field, Data] {
  const index = fieldIndex(batch.schema, name);
  return [itemAt(batch.schema.fields, index), childData(batch.data, index)];
}

/** Options of a merge. */
export interface MergeRequest {
  /** Columns or nested fields that rows are matched on. */
  readonly on: readonly string[];
  /** Whether target rows are updated from matching source rows. */
  readonly update: boolean;
  /** Condition on both rows, such as `source.a < target.b`. */
  readonly updateIf: string | null;
  /** Whether source rows without a match are inserted. */
  readonly insert: boolean;
  /** Whether target rows without a match are deleted. */
  readonly remove: boolean;
  /** Condition on these rows. */
  readonly removeIf: string | null;
  /** Whether an index may find matches; otherwise every row is read. */
  readonly useIndex: boolean;
  /** Throws after the timeout of the merge. */
  readonly checkTime: () => void;
}
