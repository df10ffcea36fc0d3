import type { DataType, Vector } from 'apache-arrow';
import { Field, RecordBatch, Schema, Struct, Utf8, makeData } from 'apache-arrow';
import { bindExpression } from './bind.ts';
import type { Bound, BoundExpression } from './bound.ts';
import { canCast } from './cast.ts';
import { castTo } from './coerce.ts';
import { SqlError } from './errors.ts';
import { evaluate, selectRows } from './evaluate.ts';
import { parseExpression } from './parse.ts';
import type { Family } from './types.ts';
import { familyOf, isComputable, isList, plainType } from './types.ts';

/** What became of values: others of the new type, or one that the type cannot hold. */
export type ExactCast =
  | { readonly kind: 'values'; readonly values: Vector }
  /** The row of the first value that would be lost, and the value as text. */
  | { readonly kind: 'lost'; readonly row: number; readonly value: string };

/** Casts between these say themselves when a value does not fit: texts are read, floats are rounded. */
const selfJudging: ReadonlySet<Family> = new Set<Family>(['text', 'binary', 'null']);

function judgesItself(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  return selfJudging.has(a) || selfJudging.has(b) || (a === 'float' && b === 'float');
}

/**
 * Whether values of a type can become values of another without a look at them
 * being in vain. Lists are left to the caller, and so is what is no single value.
 */
export function castsExactly(from: DataType, to: DataType): boolean {
  const source = plainType(from);
  const kept = plainType(to) === to && isComputable(to) && !isList(to);
  const fixed = familyOf(to) === 'binary' && 'byteWidth' in to;
  if (!kept || fixed || isList(source) || !canCast(source, to)) return false;
  return judgesItself(source, to) || canCast(to, source);
}

/**
 * Values as another type. A float that becomes a shorter one is rounded; any other
 * value that would not come back as it was is lost. The caller has asked `castsExactly`.
 */
export function exactCast(values: Vector, to: DataType): ExactCast {
  const batch = batchOf({ v: values });
  const source = columnOf(values.type);
  const cast = asType(source, to);
  try {
    const found = evaluate(cast, batch);
    const row = judgesItself(source.type, to) ? undefined : changedRow(values, found, source.type);
    return row === undefined ? { kind: 'values', values: found } : lost(values, row);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return lost(values, failingRow(values, cast));
  }
}

/** The first row whose value does not come back as it was. */
function changedRow(values: Vector, found: Vector, type: DataType): number | undefined {
  const back = asType(columnOf(found.type), type);
  const returned = evaluate(back, batchOf({ v: found }));
  const fields = [new Field('a', values.type, true), new Field('b', returned.type, true)];
  const differs = bindExpression(parseExpression('a is distinct from b'), { fields });
  return selectRows(differs, batchOf({ a: values, b: returned }))[0];
}

/** The first row that a cast refuses, by halving. */
function failingRow(values: Vector, cast: BoundExpression): number {
  let [start, end] = [0, values.length];
  while (end - start > 1) {
    const middle = (start + end) >> 1;
    if (refuses(values.slice(start, middle), cast)) end = middle;
    else start = middle;
  }
  return start;
}

function refuses(values: Vector, cast: BoundExpression): boolean {
  try {
    evaluate(cast, batchOf({ v: values }));
    return false;
  } catch (error) {
    if (error instanceof SqlError) return true;
    throw error;
  }
}

function lost(values: Vector, row: number): ExactCast {
  const one = values.slice(row, row + 1);
  const source = columnOf(values.type);
  const text = canCast(source.type, new Utf8())
    ? evaluate(asType(source, new Utf8()), batchOf({ v: one })).get(0)
    : one.get(0);
  const value = familyOf(source.type) === 'text' ? JSON.stringify(text) : String(text);
  return { kind: 'lost', row, value };
}

function columnOf(type: DataType): Bound {
  return bindExpression(parseExpression('v'), { fields: [new Field('v', type, true)] }).root;
}

function asType(node: Bound, type: DataType): BoundExpression {
  return { type, source: parseExpression('v'), root: castTo(node, type, 1) };
}

function batchOf(columns: Readonly<Record<string, Vector>>): RecordBatch {
  const entries = Object.entries(columns);
  const fields = entries.map(([name, { type }]) => new Field(name, type, true));
  const children = entries.map(([, { data }]) => data[0]!);
  const length = children[0]?.length ?? 0;
  return new RecordBatch(
    new Schema(fields),
    makeData({ type: new Struct(fields), length, nullCount: 0, children }),
  );
}
