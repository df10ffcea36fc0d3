import { Bool, type DataType } from 'apache-arrow';
import type { Column } from '../values/column.ts';
import type { ComparisonOperator, Expression, IsTest } from '../values/expression.ts';
import type { LikeMatcher } from '../patterns/like.ts';
import type { LiteralSet } from '../compare/membership.ts';
import type { EvaluationBudget } from '../values/meter.ts';
import type { Scalar } from '../values/scalar.ts';

/** Properties of every bound node. */
interface Node<Kind extends string> {
  readonly kind: Kind;
  /** The plain type of the values: no dictionary, no half float. */
  readonly type: DataType;
  readonly position: number;
  /** Whether evaluation may throw for a row. If so, it runs only on the rows that need it. */
  readonly fallible: boolean;
}

/** A constant. */
export interface BoundLiteral extends Node<'literal'> {
  readonly value: Scalar;
  /** The digits of a number as written, which a decimal takes exactly. */
  readonly digits?: string;
}
/** A top-level column. */
interface BoundColumn extends Node<'column'> {
  readonly name: string;
  /** The type in the batch, which may be a dictionary. */
  readonly stored: DataType;
}
/** A field of a struct. */
interface BoundField extends Node<'field'> {
  readonly operand: Bound;
  /** The place of the field in its struct. */
  readonly index: number;
  readonly stored: DataType;
}
/** The negation of a predicate; UNKNOWN stays UNKNOWN. */
interface BoundNot extends Node<'not'> {
  readonly operand: Bound;
}
/** AND or OR of the operands. */
export interface BoundJunction extends Node<'and' | 'or'> {
  readonly operands: readonly Bound[];
}
/** A comparison of two values of one kind; a literal is on the right. */
export interface BoundComparison extends Node<'comparison'> {
  readonly operator: ComparisonOperator;
  readonly left: Bound;
  readonly right: Bound;
  /** Factors by which the values of each side are multiplied before comparison: units of time, scales of decimals. */
  readonly factors: readonly [bigint, bigint];
}
/** A test for a state, which is never UNKNOWN itself. */
export interface BoundIs extends Node<'is'> {
  readonly operand: Bound;
  readonly test: IsTest['test'];
  readonly negated: boolean;
}
/** LiteralSet in a list of literals; other lists are bound as comparisons. */
export interface BoundIn extends Node<'in'> {
  readonly operand: Bound;
  readonly members: LiteralSet;
  readonly negated: boolean;
}
/** A match of texts with a pattern. */
export interface BoundLike extends Node<'like'> {
  readonly operand: Bound;
  readonly pattern: Bound;
  /** The matcher of a pattern that is a literal. */
  readonly matcher: LikeMatcher | undefined;
  readonly escape: string;
  readonly ignoreCase: boolean;
  readonly negated: boolean;
}
/** Every `when` is a predicate: the simple form is bound as comparisons. */
export interface BoundCase extends Node<'case'> {
  readonly branches: readonly { readonly when: Bound; readonly result: Bound }[];
  readonly otherwise: Bound;
}
/** The first operand that is not null; a later one is not evaluated where an earlier one has a value. */
export interface BoundCoalesce extends Node<'coalesce'> {
  readonly operands: readonly Bound[];
}
/** Anything that is computed from its arguments alone: functions, arithmetic, casts. */
export interface BoundCall extends Node<'call'> {
  readonly name: string;
  readonly arguments: readonly Bound[];
  readonly kernel: Kernel;
}
/** An operand that occurs in several places of the tree and is evaluated once. */
export interface BoundShared extends Node<'shared'> {
  readonly operand: Bound;
}

/** The call that a kernel computes. */
export interface KernelCall {
  readonly name: string;
  readonly type: DataType;
  /** The plain types of the arguments. */
  readonly types: readonly DataType[];
  readonly position: number;
  readonly length: number;
}

/** Computes a function for whole columns. Throws SqlError `overflow` or `value` for a row it cannot take. */
export type Kernel = (columns: readonly Column[], call: KernelCall) => Column;

/** Arrays by their minimum length. */
export interface AtLeast<Item> {
  0: readonly Item[];
  1: readonly [Item, ...Item[]];
  2: readonly [Item, Item, ...Item[]];
  3: readonly [Item, Item, Item, ...Item[]];
  4: readonly [Item, Item, Item, Item, ...Item[]];
}

/** The kernel of functions of at least `count` arguments. */
export function kernelOf<Count extends keyof AtLeast<Column>>(
  count: Count,
  compute: (
    columns: AtLeast<Column>[Count],
    call: KernelCall & { readonly types: AtLeast<DataType>[Count] },
  ) => Column,
): Kernel {
  return (columns, call) => {
    if (columns.length < count) throw new TypeError(`${call.name} needs ${count} columns`);
    return compute(columns as AtLeast<Column>[Count], call as never);
  };
}

/** A typed tree over the columns of a scope. Frozen; evaluation reads it, nothing changes it. */
export type Bound =
  | BoundLiteral
  | BoundColumn
  | BoundField
  | BoundNot
  | BoundJunction
  | BoundComparison
  | BoundIs
  | BoundIn
  | BoundLike
  | BoundCase
  | BoundCoalesce
  | BoundCall
  | BoundShared;

/** An expression that was checked against the columns of a scope. */
export interface BoundExpression {
  /** The type of the vector that `evaluate` gives. */
  readonly type: DataType;
  readonly source: Expression;
  /** Resources that the evaluation may use. */
  readonly budget: EvaluationBudget | undefined;
  readonly root: Bound;
}

/** The type of every predicate. */
export const boolType: DataType = new Bool();

type Children = {
  readonly [Kind in Bound['kind']]: (node: Extract<Bound, { kind: Kind }>) => readonly Bound[];
};

const children: Children = {
  literal: () => [],
  column: () => [],
  field: ({ operand }) => [operand],
  not: ({ operand }) => [operand],
  and: ({ operands }) => operands,
  or: ({ operands }) => operands,
  comparison: ({ left, right }) => [left, right],
  is: ({ operand }) => [operand],
  in: ({ operand }) => [operand],
  like: ({ operand, pattern }) => [operand, pattern],
  case: ({ branches, otherwise }) => [
    ...branches.flatMap(({ when, result }) => [when, result]),
    otherwise,
  ],
  coalesce: ({ operands }) => operands,
  call: (node) => node.arguments,
  shared: ({ operand }) => [operand],
};

/** The direct children of a bound node. */
export function boundChildren(node: Bound): readonly Bound[] {
  return children[node.kind](node as never);
}
