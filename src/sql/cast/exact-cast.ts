import type { Data, DataType } from 'apache-arrow';
import { canCast } from './cast.ts';
import { SqlError } from '../values/sql-error.ts';
import { LostValue } from './cast-values.ts';
import { readColumn } from '../values/read.ts';
import { castExactly } from './round-trip.ts';
import {
  elementType,
  familyOf,
  isComputable,
  plainType,
  sqlTypeName,
  type Family,
} from '../values/types.ts';
import { vectorOf } from '../values/write.ts';

/** Result of an exact cast: the new values, or the first value that the type cannot hold. */
type ExactCast =
  | { readonly kind: 'values'; readonly data: Data }
  /** The first value that would be lost, as text. */
  | { readonly kind: 'lost'; readonly value: string };

/** Types whose casts already report values that do not fit. */
const selfJudging: ReadonlySet<Family> = new Set<Family>(['text', 'binary', 'null']);

function castsValue(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  const nested = a === 'list' || a === 'struct' || b === 'list' || b === 'struct';
  const there = !nested && canCast(from, to);
  return there && (selfJudging.has(a) || selfJudging.has(b) || canCast(to, from));
}

/** Both structs must have the same field names. */
function castsFields(from: DataType, to: DataType): boolean {
  const pairs = to.children.map(({ name, type }) => {
    const field = from.children.find((each) => each.name === name);
    return field !== undefined && castsPlain(field.type, type);
  });
  return from.children.length === to.children.length && pairs.every(Boolean);
}

function castsPlain(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'list' && b === 'list') return castsPlain(elementType(from), elementType(to));
  return a === 'struct' && b === 'struct' ? castsFields(from, to) : castsValue(from, to);
}

/**
 * Whether values of a type can become values of another without a look at them
 * being in vain: single values, and lists and structs of such.
 */
export function castsExactly(from: DataType, to: DataType): boolean {
  const source = plainType(from);
  return isComputable(source) && isComputable(to) && plainType(to) === to && castsPlain(source, to);
}

/** A float that becomes a shorter one is rounded. */
function mayRound(from: Family, to: Family): boolean {
  return from === 'float' && to === 'float';
}

/**
 * Values as another type. A float that becomes a shorter one is rounded; any other
 * value that would not come back as it was is lost. The caller has checked `castsExactly`.
 */
export function exactCast(data: Data, to: DataType): ExactCast {
  const target = { type: to, length: data.length, position: 1 };
  try {
    const column = castExactly(readColumn(data), plainType(data.type), target, mayRound);
    return { kind: 'values', data: vectorOf(column, to).data[0]! };
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    const value = error instanceof LostValue ? error.value : `of ${sqlTypeName(data.type)}`;
    return { kind: 'lost', value };
  }
}
