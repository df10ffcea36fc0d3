import {
  maskStates,
  newStates,
  statesColumn,
  truth,
  validOf,
  type BytesColumn,
  type Column,
  type StatesColumn,
} from '../values/column.ts';
import { equalBytes } from './compare-bytes.ts';
import { spend } from '../values/meter.ts';
import { constantColumn, type Scalar } from '../values/scalar.ts';
import type { DataType } from 'apache-arrow';
import { rowKeys, type Key } from '../values/keys.ts';

/** The literals of an IN list in a hash set: the cost per row does not depend on the length of the list. */
export interface LiteralSet {
  /** A null in the list makes a row UNKNOWN that is no member: it might equal the null. */
  readonly hasNull: boolean;
  readonly size: number;
  /** The literals that are not null. */
  readonly values: readonly Scalar[];
  /** Marks with `yes` the rows of a column that are members. */
  mark(column: Column, into: Uint8Array, yes: number): void;
}

const encoder = new TextEncoder();

/** Random per process, so that no list can be crafted whose texts all collide. */
const seed = Math.floor(Math.random() * 4_294_967_296);

/** FNV-1a, 32 bits, with a seed. */
function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x0100_0193);
  return hash;
}

function bytesTable(members: readonly Uint8Array[]): Map<number, Uint8Array[]> {
  const table = new Map<number, Uint8Array[]>();
  for (const member of members) {
    const hash = hashBytes(member, 0, member.length);
    const bucket = table.get(hash) ?? [];
    bucket.push(member);
    table.set(hash, bucket);
  }
  return table;
}

/** Equal texts are stored once. */
function distinctBytes(values: readonly Scalar[]): readonly Uint8Array[] {
  const texts = new Map<string, Uint8Array>();
  for (const value of values) {
    const bytes = typeof value === 'string' ? encoder.encode(value) : (value as Uint8Array);
    texts.set(Buffer.from(bytes).toString('latin1'), bytes);
  }
  return [...texts.values()];
}

function markBytes(
  table: Map<number, Uint8Array[]>,
  column: BytesColumn,
  into: Uint8Array,
  yes: number,
): void {
  for (let row = 0; row < into.length; row++) {
    spend(column.ends[row]! - column.starts[row]!);
    const bucket = table.get(hashBytes(column.bytes, column.starts[row]!, column.ends[row]!));
    if (bucket?.some((member) => equalBytes(column, row, member)) === true) into[row] = yes;
  }
}

function markEach(
  members: ReadonlySet<Scalar>,
  values: ArrayLike<number | bigint>,
  into: Uint8Array,
  yes: number,
): void {
  for (let row = 0; row < into.length; row++) {
    if (members.has(values[row]!)) into[row] = yes;
  }
}

/** The members that a JavaScript number can represent, for columns of numbers. */
function asNumbers(values: readonly Scalar[]): ReadonlySet<Scalar> {
  return new Set(values.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
}

/** 64-bit integers are looked up as doubles: values beyond 2^53 equal no member below it. */
function markLongs(
  members: ReadonlySet<Scalar>,
  values: BigInt64Array | BigUint64Array,
  into: Uint8Array,
  yes: number,
): void {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  // The greatest unsigned number is not -1.
  const high =
    values instanceof BigUint64Array
      ? words
      : new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let row = 0; row < into.length; row++) {
    if (members.has(high[row * 2 + 1]! * 4_294_967_296 + words[row * 2]!)) into[row] = yes;
  }
}

function allSafe(values: readonly Scalar[]): boolean {
  return values.every((value) => typeof value === 'bigint' && Number.isSafeInteger(Number(value)));
}

/** The members among `values`, which have the column's type; nulls are counted separately. */
export function membershipOf(values: readonly Scalar[]): LiteralSet {
  const present = values.filter((value) => value !== null);
  const table = present.some((value) => typeof value === 'string' || value instanceof Uint8Array)
    ? bytesTable(distinctBytes(present))
    : new Map<number, Uint8Array[]>();
  const exact = new Set<Scalar>(present);
  const numbers = asNumbers(present);
  const safe = allSafe(present);
  const mark = (column: Column, into: Uint8Array, yes: number): void => {
    if (column.kind === 'bytes') {
      markBytes(table, column, into, yes);
    } else if (column.kind === 'number') {
      markEach(numbers, column.values, into, yes);
    } else if (column.kind === 'bigint' && safe) {
      markLongs(numbers, column.values, into, yes);
    } else if (column.kind === 'bigint' || column.kind === 'wide') {
      markEach(exact, column.values, into, yes);
    } else if (column.kind === 'states') {
      column.states.forEach((state, row) => {
        into[row] = exact.has(state === truth.true) ? yes : into[row]!;
      });
    }
  };
  return { hasNull: present.length < values.length, size: values.length, values: present, mark };
}

/** `column IN (...)`, or NOT IN. */
export function testMembership(
  column: Column,
  members: LiteralSet,
  negated: boolean,
): StatesColumn {
  const [yes, no] = negated ? [truth.false, truth.true] : [truth.true, truth.false];
  const states = newStates(column.length);
  states.fill(members.hasNull ? truth.unknown : no);
  members.mark(column, states, yes);
  maskStates(states, validOf(column));
  return statesColumn(states);
}

/** The lists or structs of an IN list by their keys; nulls inside them are equal. */
export function nestedMembership(values: readonly Scalar[], type: DataType): LiteralSet {
  const present = values.filter((value) => value !== null);
  const members = new Set(present.map((value) => rowKeys(constantColumn(type, value, 1), type)(0)));
  const mark = (column: Column, into: Uint8Array, yes: number): void => {
    const key: Key = rowKeys(column, type);
    for (let row = 0; row < into.length; row++) {
      if (members.has(key(row))) into[row] = yes;
    }
  };
  const hasNull = present.length < values.length;
  return { hasNull, size: values.length, values: present, mark };
}
