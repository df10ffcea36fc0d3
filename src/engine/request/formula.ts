import { DataType, type Field, type RecordBatch, type Vector } from 'apache-arrow';
import { typeName } from '../../arrow/types.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { bindAssignment } from '../../sql/assign.ts';
import { bindExpression, bindPredicate } from '../../sql/bind.ts';
import { columnsUsed } from '../../sql/evaluate/columns.ts';
import { SqlError } from '../../sql/values/sql-error.ts';
import { countSelected, evaluate, selectRows } from '../../sql/evaluate.ts';
import { parseExpression } from '../../sql/parse.ts';
import { ownStatement, type Formula, type Statement } from '../base/statement.ts';
import { boundChildren, type Bound } from '../../sql/evaluate/bound.ts';
import type { MaybePromise } from '../../protocol/maybe-promise.ts';

/** Cost of a pattern match in steps, measured with texts of about 200 characters. */
const LIKE_STEPS = 50;
const REGEXP_STEPS = 200;
/** Cost of a function that reads all of its texts, per byte. */
const TEXT_STEPS = 30;
/** Of a text of as many characters as a word has, for each character of the other. */
const DISTANCE_STEPS = 500;
const CALL_STEPS = 5;

/**
 * Estimated steps per row, of a few nanoseconds each. Shared subexpressions are counted once, as
 * they are evaluated.
 */
export function stepsOf({ bound }: Formula): number {
  const nodes = new Set<Bound>([bound.root]);
  let steps = 0;
  // The list grows during the iteration.
  for (const node of nodes) {
    steps += ownSteps(node);
    for (const child of boundChildren(node)) nodes.add(child);
  }
  return steps;
}

function ownSteps(node: Bound): number {
  if (node.kind === 'like') return LIKE_STEPS;
  if (node.kind !== 'call') return 1;
  const { name } = node;
  if (name === 'levenshtein') return DISTANCE_STEPS * longestConstant(node.arguments);
  if (name.startsWith('regexp')) return REGEXP_STEPS;
  const takesTexts = node.arguments.some(
    ({ type }) => DataType.isUtf8(type) || DataType.isLargeUtf8(type),
  );
  return takesTexts ? TEXT_STEPS : CALL_STEPS;
}

/** Size of a fixed-width value. */
const FIXED_BYTES = 8;

function isLong(type: DataType): boolean {
  return !(
    DataType.isInt(type) ||
    DataType.isFloat(type) ||
    DataType.isBool(type) ||
    DataType.isTimestamp(type) ||
    DataType.isDate(type) ||
    DataType.isTime(type) ||
    DataType.isDuration(type) ||
    DataType.isDecimal(type) ||
    DataType.isNull(type)
  );
}

/** Assumed size of a value of variable width. */
const UNKNOWN_BYTES = 2 ** 20;

/**
 * Size of the result of a function that lengthens its argument: the literal factor times the
 * argument's size.
 */
const multiplying: ReadonlyMap<string, number> = new Map([
  ['repeat', 1],
  ['lpad', 1],
  ['rpad', 1],
  ['range', 8],
  ['generate_series', 8],
  ['array_repeat', 8],
  ['list_repeat', 8],
  ['array_resize', 8],
  ['list_resize', 8],
]);

/** Functions whose result is as long as one text times another. */
const replacing: ReadonlySet<string> = new Set([
  'replace',
  'regexp_replace',
  'array_to_string',
  'list_to_string',
  'array_join',
  'list_join',
]);

/** Size of a value in bytes, and bytes processed for it. */
interface Estimate {
  readonly size: number;
  readonly work: number;
}

/** Estimated bytes read and written per row to evaluate a formula, for rows of a given size. */
export function workOf({ bound }: Formula, rows: number, bytes: number): number {
  const column = Math.max(8, bytes / Math.max(1, rows));
  const cache = new Map<Bound, Estimate>();
  const visited = (node: Bound): Estimate => {
    const found = cache.get(node);
    if (found !== undefined) return { size: found.size, work: 0 };
    const made = estimate(node, column, visited);
    cache.set(node, made);
    return made;
  };
  return visited(bound.root).work * rows;
}

function estimate(node: Bound, column: number, visited: (node: Bound) => Estimate): Estimate {
  if (node.kind === 'literal') return { size: literalBytes(node.value), work: 0 };
  if (node.kind === 'column') return { size: isLong(node.type) ? column : FIXED_BYTES, work: 0 };
  const parts = boundChildren(node).map(visited);
  const sizes = parts.map(({ size }) => size);
  const sum = sizes.reduce((total, size) => total + size, 0);
  const size = sizeOfResult(node, sizes, sum);
  const own = node.kind === 'call' && node.name === 'levenshtein' ? sizes[0]! * sizes[1]! : 0;
  const below = parts.reduce((total, { work }) => total + work, 0);
  // Fixed-width values are counted as steps.
  const read = sizes.reduce((total, each) => (each > FIXED_BYTES ? total + each : total), 0);
  return { size, work: below + read + (size > FIXED_BYTES ? size : 0) + own };
}

function sizeOfResult(node: Bound, sizes: readonly number[], sum: number): number {
  if (node.kind === 'case' || node.kind === 'coalesce') return Math.max(8, ...sizes);
  if (node.kind !== 'call') return sizes.length === 1 && node.kind === 'shared' ? sum : 8;
  const worth = multiplying.get(node.name);
  if (worth !== undefined) return worth * timesOf(node.arguments) * Math.max(1, sizes[0] ?? 1);
  if (replacing.has(node.name)) return (sizes[0] ?? 1) * Math.max(1, (sizes.at(-1) ?? 1) / 4);
  return isLong(node.type) ? sum : FIXED_BYTES;
}

/** Factor of a repeating function from its greatest literal; unknown if a row decides it. */
function timesOf(nodes: readonly Bound[]): number {
  const counts = nodes.filter(({ type }) => DataType.isInt(type));
  const values = counts.map((node) => (node.kind === 'literal' ? Number(node.value) : NaN));
  const greatest = Math.max(1, ...values.map(Math.abs));
  return Number.isNaN(greatest) ? UNKNOWN_BYTES : greatest;
}

function literalBytes(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  const isColumn = typeof value === 'object' && value !== null && 'child' in value;
  return isColumn ? 8 * (value.child as { length: number }).length : 8;
}

function longestConstant(nodes: readonly Bound[]): number {
  const lengths = nodes.map((node) =>
    node.kind === 'literal' && typeof node.value === 'string' ? node.value.length : 1,
  );
  return Math.max(8, ...lengths);
}

/**
 * Binds the text of an expression to the columns it may use. Expressions of one request
 * are given the same statement.
 * @throws CatalogError TableColumnNotFound for a column that is not there; InvalidInput, with the position, for
 * anything else that is wrong with it.
 */
export function bindFormula(
  source: string,
  text: string,
  fields: readonly Field[],
  statement: Statement = ownStatement(),
): Formula {
  const { now, budget } = statement;
  const bound = judged(source, () =>
    bindExpression(parseExpression(text), { fields, now, budget }),
  );
  return { source, text, bound, statement, use: 'value', columns: columnsUsed(bound) };
}

/**
 * Binds an expression whose values go into a column.
 * @throws CatalogError as `bindFormula` does, and InvalidInput for a value that the column's type cannot hold.
 */
export function assignmentFormula(
  source: string,
  text: string,
  fields: readonly Field[],
  type: DataType,
  statement: Statement = ownStatement(),
): Formula {
  const { now, budget } = statement;
  const bound = judged(source, () =>
    bindAssignment(parseExpression(text), { fields, now, budget }, type),
  );
  return { source, text, bound, statement, use: type, columns: columnsUsed(bound) };
}

/** Binds an expression that must be true or false of each row. */
export function predicateFormula(
  source: string,
  text: string,
  fields: readonly Field[],
  statement: Statement = ownStatement(),
): Formula {
  const { now, budget } = statement;
  const bound = judged(source, () => bindPredicate(parseExpression(text), { fields, now, budget }));
  const { type } = bound;
  if (DataType.isBool(type) || DataType.isNull(type)) {
    return { source, text, bound, statement, use: 'predicate', columns: columnsUsed(bound) };
  }
  throw new CatalogError(
    'InvalidInput',
    `${source} must be true or false of each row, not of type ${typeName(type)}`,
  );
}

/** The value of each row. The batch has the columns that the formula reads. */
export function valuesOf(formula: Formula, batch: RecordBatch): Vector {
  return judged(formula.source, () => evaluate(formula.bound, batch));
}

/** Rows that pass a predicate, ascending. */
export function rowsWhere(predicate: Formula, batch: RecordBatch): Uint32Array {
  if (DataType.isNull(predicate.bound.type)) return new Uint32Array();
  return judged(predicate.source, () => selectRows(predicate.bound, batch));
}

/** Number of rows that pass a predicate. */
export function countWhere(predicate: Formula, batch: RecordBatch): number {
  if (DataType.isNull(predicate.bound.type)) return 0;
  return judged(predicate.source, () => countSelected(predicate.bound, batch));
}

/** The value of each row; evaluated on another thread if that takes long. */
export function valuesInThread(formula: Formula, batch: RecordBatch): MaybePromise<Vector> {
  const { threads } = formula.statement;
  return threads?.isLong(formula, batch) === true
    ? threads.valuesOf(formula, batch)
    : valuesOf(formula, batch);
}

/** Rows that pass a predicate, ascending; evaluated on another thread if that takes long. */
export function rowsInThread(predicate: Formula, batch: RecordBatch): MaybePromise<Uint32Array> {
  const { threads } = predicate.statement;
  return threads?.isLong(predicate, batch) === true
    ? threads.rowsWhere(predicate, batch)
    : rowsWhere(predicate, batch);
}

/** Some errors depend on a row: an overflow, or a text that is not a number. */
function judged<Result>(source: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof SqlError ? refusal(source, error) : error;
  }
}

function refusal(source: string, error: SqlError): CatalogError {
  const name = error.kind === 'unknown-column' ? 'TableColumnNotFound' : 'InvalidInput';
  return new CatalogError(name, `${source}: ${error.message}`);
}
