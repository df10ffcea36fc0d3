import { newLike } from '../../arrow/gather.ts';
import {
  newStates,
  statesColumn,
  structColumn,
  type BigintArray,
  type BytesColumn,
  type Column,
  type ListColumn,
  type NumberArray,
  type Valid,
} from './column.ts';
import { hold, spend } from './meter.ts';

function appendValid(left: Column & { valid: Valid }, right: Column & { valid: Valid }): Valid {
  if (left.valid === null && right.valid === null) return null;
  const valid = new Uint8Array(left.length + right.length).fill(1);
  valid.set(left.valid ?? [], 0);
  valid.set(right.valid ?? [], left.length);
  return valid;
}

function appendValues<Values extends NumberArray | BigintArray>(
  left: Values,
  right: Values,
  lengths: readonly [number, number],
): Values {
  const values = newLike(left, lengths[0] + lengths[1]);
  // Arrays of numbers and arrays of bigints each take the values of the other kinds of theirs.
  values.set(left.subarray(0, lengths[0]) as never, 0);
  values.set(right.subarray(0, lengths[1]) as never, lengths[0]);
  return values;
}

/** Starts or ends of two columns; the second's are moved by `shift` bytes or rows. */
function appendSpans(
  left: ArrayLike<number>,
  right: ArrayLike<number>,
  lengths: readonly [number, number],
  shift: number,
): Uint32Array {
  const spans = new Uint32Array(lengths[0] + lengths[1]);
  for (let row = 0; row < lengths[0]; row++) spans[row] = left[row]!;
  for (let row = 0; row < lengths[1]; row++) spans[lengths[0] + row] = right[row]! + shift;
  return spans;
}

/** Copies the column's bytes if it uses less than half of them. */
function compactBytes(column: BytesColumn): BytesColumn {
  let size = 0;
  for (let row = 0; row < column.length; row++) size += column.ends[row]! - column.starts[row]!;
  if (size * 2 >= column.bytes.length) return column;
  hold(size + column.length * 8);
  spend(size);
  const bytes = new Uint8Array(size);
  const starts = new Uint32Array(column.length);
  const ends = new Uint32Array(column.length);
  for (let row = 0, end = 0; row < column.length; row++) {
    starts[row] = end;
    bytes.set(column.bytes.subarray(column.starts[row], column.ends[row]), end);
    end += column.ends[row]! - column.starts[row]!;
    ends[row] = end;
  }
  return { ...column, bytes, starts, ends };
}

function joinBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
  hold(left.length + right.length);
  spend(left.length + right.length);
  const bytes = new Uint8Array(left.length + right.length);
  bytes.set(left, 0);
  bytes.set(right, left.length);
  return bytes;
}

/** Columns that share their bytes continue to share them. */
function appendBytes(
  first: BytesColumn,
  second: BytesColumn,
  lengths: readonly [number, number],
): BytesColumn {
  const shared = first.bytes === second.bytes;
  const [left, right] = shared ? [first, second] : [compactBytes(first), compactBytes(second)];
  const shift = shared ? 0 : left.bytes.length;
  return {
    kind: 'bytes',
    length: lengths[0] + lengths[1],
    bytes: shared ? left.bytes : joinBytes(left.bytes, right.bytes),
    starts: appendSpans(left.starts, right.starts, lengths, shift),
    ends: appendSpans(left.ends, right.ends, lengths, shift),
    valid: appendValid(left, right),
  };
}

function appendLists(
  left: ListColumn,
  right: ListColumn,
  lengths: readonly [number, number],
): ListColumn {
  const shared = left.child === right.child;
  const shift = shared ? 0 : left.child.length;
  return {
    kind: 'list',
    length: lengths[0] + lengths[1],
    child: shared ? left.child : appendColumns(left.child, right.child),
    starts: appendSpans(left.starts, right.starts, lengths, shift),
    ends: appendSpans(left.ends, right.ends, lengths, shift),
    valid: appendValid(left, right),
  };
}

/** Appends the rows of a column to those of another of the same kind. Either may be empty and of any kind. */
export function appendColumns(left: Column, right: Column): Column {
  // A column without rows may have no kind: the items of a null list, a dictionary never sent.
  if (left.length === 0 || right.length === 0) return left.length === 0 ? right : left;
  const lengths = [left.length, right.length] as const;
  const length = left.length + right.length;
  spend(length * 9);
  hold(length * 9);
  if (left.kind === 'states' && right.kind === 'states') {
    const states = newStates(length);
    states.set(left.states, 0);
    states.set(right.states, left.length);
    return statesColumn(states);
  }
  if (left.kind === 'number' && right.kind === 'number') {
    return {
      kind: 'number',
      length,
      values: appendValues(left.values, right.values, lengths),
      valid: appendValid(left, right),
    };
  }
  if (left.kind === 'bigint' && right.kind === 'bigint') {
    return {
      kind: 'bigint',
      length,
      values: appendValues(left.values, right.values, lengths),
      valid: appendValid(left, right),
    };
  }
  if (left.kind === 'wide' && right.kind === 'wide') {
    return {
      kind: 'wide',
      length,
      values: [...left.values, ...right.values],
      valid: appendValid(left, right),
    };
  }
  if (left.kind === 'bytes' && right.kind === 'bytes') return appendBytes(left, right, lengths);
  if (left.kind === 'list' && right.kind === 'list') return appendLists(left, right, lengths);
  if (left.kind === 'struct' && right.kind === 'struct') {
    return structColumn(length, appendValid(left, right), (at) =>
      appendColumns(left.field(at), right.field(at)),
    );
  }
  if (left.kind === 'null' && right.kind === 'null') return { kind: 'null', length };
  throw new TypeError(`a ${left.kind} column cannot continue with a ${right.kind} column`);
}

/** The rows of all columns, which are of one kind, in order. */
export function appendAll(columns: readonly Column[]): Column {
  const half = columns.length >> 1;
  if (half === 0) return columns[0]!;
  // Halves, not one by one, so that nothing is copied more often than the logarithm says.
  return appendColumns(appendAll(columns.slice(0, half)), appendAll(columns.slice(half)));
}
