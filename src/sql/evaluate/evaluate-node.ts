import {
  boundChildren,
  type Bound,
  type BoundCall,
  type BoundCase,
  type BoundCoalesce,
  type BoundComparison,
  type BoundJunction,
  type BoundLike,
} from './bound.ts';
import { choose, scatterStates } from '../values/choose.ts';
import { statesColumn, truth, validOf, type Column } from '../values/column.ts';
import { compareColumns, compareToLiteral } from '../compare/compare.ts';
import { constantFrame, dictionaryFrame, subFrame, type Frame } from './frame.ts';
import { testLike } from '../patterns/like-column.ts';
import {
  andStates,
  countState,
  notStates,
  orStates,
  rowsOtherThan,
  rowsThatAre,
  statesOf,
  testIs,
} from '../compare/logic.ts';
import { testMembership } from '../compare/membership.ts';
import { heldNow, hold, pin, settle, sizeOf, spend } from '../values/meter.ts';
import { readField } from '../values/read.ts';
import { constantColumn } from '../values/scalar.ts';
import { takeRows } from '../values/take.ts';

/**
 * AND and OR look at their operands in order. An operand that may throw runs
 * only on the rows that are not decided yet, so `x <> 0 AND 10 / x > 1` is safe;
 * one that cannot throw does so only when few rows are left, which is quicker.
 */
function evaluateJunction({ kind, operands }: BoundJunction, frame: Frame): Column {
  const [decided, combine] = kind === 'and' ? [truth.false, andStates] : [truth.true, orStates];
  const [first, ...rest] = operands;
  let states = statesOf(evaluateNode(first!, frame));
  for (const operand of rest) {
    const open = frame.length - countState(states, decided);
    if (open === 0) break;
    if (open < frame.length && (operand.fallible || open * 4 < frame.length)) {
      states = combine(states, evaluateOpen(operand, frame, states, decided));
    } else {
      states = combine(states, statesOf(evaluateNode(operand, frame)));
    }
  }
  return statesColumn(states);
}

/** Evaluates the operand for the rows that `states` leaves undecided. */
function evaluateOpen(
  operand: Bound,
  frame: Frame,
  states: Uint8Array,
  decided: number,
): Uint8Array {
  const open = rowsOtherThan(states, decided);
  const part = statesOf(evaluateNode(operand, subFrame(frame, open)));
  return scatterStates(frame.length, open, part, decided);
}

function evaluateComparison(
  { operator, left, right, factors }: BoundComparison,
  frame: Frame,
): Column {
  const column = evaluateNode(left, frame);
  return right.kind === 'literal'
    ? compareToLiteral(operator, column, right.value, factors)
    : compareColumns(operator, column, evaluateNode(right, frame), factors);
}

function evaluateLike(node: BoundLike, frame: Frame): Column {
  const { operand, pattern, matcher } = node;
  const [texts, patterns] = [evaluateNode(operand, frame), evaluateNode(pattern, frame)];
  return testLike(texts, patterns, matcher, { ...node, position: pattern.position });
}

/** Each branch is evaluated only for the rows that reach it. */
function evaluateCase({ branches, otherwise, type }: BoundCase, frame: Frame): Column {
  let open: Uint32Array = Uint32Array.from({ length: frame.length }, (_, row) => row);
  const parts: { rows: Uint32Array; column: Column }[] = [];
  for (const { when, result } of branches) {
    if (open.length === 0) break;
    const states = statesOf(evaluateNode(when, inFrame(frame, open)));
    const rows = takeRows32(open, rowsThatAre(states, truth.true));
    parts.push({ rows, column: evaluateNode(result, inFrame(frame, rows)) });
    open = takeRows32(open, rowsOtherThan(states, truth.true));
  }
  parts.push({ rows: open, column: evaluateNode(otherwise, inFrame(frame, open)) });
  return choose(type, frame.length, parts);
}

function evaluateCoalesce({ operands, type }: BoundCoalesce, frame: Frame): Column {
  let open: Uint32Array = Uint32Array.from({ length: frame.length }, (_, row) => row);
  const parts: { rows: Uint32Array; column: Column }[] = [];
  for (const operand of operands) {
    if (open.length === 0) break;
    const column = evaluateNode(operand, inFrame(frame, open));
    parts.push({ rows: open, column });
    open = takeRows32(open, nullRows(column));
  }
  return choose(type, frame.length, parts);
}

function nullRows(column: Column): Uint32Array {
  const valid = validOf(column);
  return valid === null ? new Uint32Array(0) : rowsThatAre(valid, 0);
}

function takeRows32(from: Uint32Array, rows: Uint32Array): Uint32Array {
  return rows.map((row) => from[row]!);
}

function inFrame(frame: Frame, rows: Uint32Array): Frame {
  return rows.length === frame.length ? frame : subFrame(frame, rows);
}

function evaluateCall(node: BoundCall, frame: Frame): Column {
  const columns = node.arguments.map((argument) => evaluateNode(argument, frame));
  const types = node.arguments.map((argument) => argument.type);
  const { name, type, position } = node;
  return node.kernel(columns, { name, type, types, position, length: frame.length });
}

function evaluateShared(node: Bound & { kind: 'shared' }, frame: Frame): Column {
  const cached = frame.recall(node);
  const column = cached ?? evaluateNode(node.operand, frame);
  if (cached === undefined) {
    frame.remember(node, column);
    pin(Math.min(sizeOf(column), heldNow()));
  }
  return column;
}

type Evaluators = {
  readonly [Kind in Bound['kind']]: (node: Extract<Bound, { kind: Kind }>, frame: Frame) => Column;
};

const evaluators: Evaluators = {
  literal: ({ type, value }, frame) => constantColumn(type, value, frame.length),
  column: ({ name }, frame) => frame.column(name),
  field: ({ operand, index }, frame) => readField(evaluateNode(operand, frame), index),
  not: ({ operand }, frame) => statesColumn(notStates(statesOf(evaluateNode(operand, frame)))),
  and: evaluateJunction,
  or: evaluateJunction,
  comparison: evaluateComparison,
  is: ({ operand, test, negated }, frame) => testIs(evaluateNode(operand, frame), test, negated),
  in: ({ operand, members, negated }, frame) =>
    testMembership(evaluateNode(operand, frame), members, negated),
  like: evaluateLike,
  case: evaluateCase,
  coalesce: evaluateCoalesce,
  call: evaluateCall,
  shared: evaluateShared,
};

/** The only column below a node; null if there is none or several. Cached per node. */
const onlyColumns = new WeakMap<Bound, string | null>();

function onlyColumn(node: Bound): string | null {
  const cached = onlyColumns.get(node);
  if (cached !== undefined) return cached;
  const names = new Set(
    boundChildren(node)
      .filter((child) => child.kind !== 'literal')
      .map(onlyColumn),
  );
  const [name] = names;
  const found = node.kind === 'column' ? node.name : names.size === 1 ? name! : null;
  onlyColumns.set(node, found);
  return found;
}

/** An expression over one dictionary column is evaluated on the values of the dictionary. */
const encodable: ReadonlySet<Bound['kind']> = new Set(['comparison', 'in', 'like', 'call', 'is']);

function evaluateEncoded(node: Bound, frame: Frame): Column | undefined {
  if (!encodable.has(node.kind) || node.fallible) return undefined;
  const name = onlyColumn(node);
  const encoded = name === null ? undefined : frame.encoded(name);
  if (name === null || encoded === undefined) return undefined;
  const perValue = evaluators[node.kind](node as never, dictionaryFrame(name, encoded.values));
  return takeRows(perValue, encoded.rows);
}

/** The values of a node for the rows of a frame. Throws SqlError `overflow`, `value` or `limit`. */
export function evaluateNode(node: Bound, frame: Frame): Column {
  if (node.kind === 'literal' || node.kind === 'column') {
    return evaluators[node.kind](node as never, frame);
  }
  spend(frame.length * ROW_BYTES);
  const before = heldNow();
  const column = evaluateConstant(node, frame) ?? evaluateRows(node, frame);
  settle(before, column);
  return column;
}

/** Work of a node per row, in bytes, in addition to what its kernel charges. */
const ROW_BYTES = 8;

function evaluateRows(node: Bound, frame: Frame): Column {
  hold(frame.length * ROW_BYTES);
  return evaluateEncoded(node, frame) ?? evaluators[node.kind](node as never, frame);
}

/** Whether a node has no column below it. Cached per node. */
const constants = new WeakMap<Bound, boolean>();

function isConstant(node: Bound): boolean {
  if (node.kind === 'literal' || node.kind === 'column') return node.kind === 'literal';
  let cached = constants.get(node);
  if (cached === undefined) constants.set(node, (cached = boundChildren(node).every(isConstant)));
  return cached;
}

/** Values of constants that were too expensive to compute at bind time. */
const computed = new WeakMap<Bound, { readonly column: Column; readonly bytes: number }>();

/** A constant is computed for one row and repeated for all. */
function evaluateConstant(node: Bound, frame: Frame): Column | undefined {
  if (frame.length <= 1 || !isConstant(node)) return undefined;
  let made = computed.get(node);
  if (made === undefined) {
    const column = evaluateNode(node, constantFrame(1));
    made = { column, bytes: Math.min(sizeOf(column), heldNow()) };
    computed.set(node, made);
  }
  pin(made.bytes);
  return takeRows(made.column, new Uint32Array(frame.length));
}
