/** A piece of a column path; a quoted one matches only exactly. */
export interface Name {
  readonly text: string;
  readonly quoted: boolean;
}

/** A calendar interval; the parts do not carry into each other. */
export interface Interval {
  readonly months: number;
  readonly days: number;
  readonly nanoseconds: bigint;
}

/** A value written in the text. Times are since midnight, timestamps since 1970-01-01 UTC. */
export type LiteralValue =
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'integer'; readonly value: bigint }
  /** A number with a point or an exponent, as it was written. */
  | { readonly type: 'number'; readonly text: string }
  | { readonly type: 'text'; readonly value: string }
  /** Pairs of hexadecimal digits. */
  | { readonly type: 'binary'; readonly hex: string }
  | { readonly type: 'date'; readonly days: number }
  | { readonly type: 'time'; readonly nanoseconds: bigint }
  | { readonly type: 'timestamp'; readonly nanoseconds: bigint; readonly zoned: boolean }
  | { readonly type: 'interval'; readonly interval: Interval };

/** Comparison operators; the last two treat nulls as values. */
export type ComparisonOperator =
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'is distinct from'
  | 'is not distinct from';

/** The operators of numbers, dates and intervals. */
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';

/** The name of a type as written: `decimal(10, 2)` is `decimal` with 10 and 2. */
export interface TypeName {
  readonly name: string;
  readonly parameters: readonly number[];
  /** The fields of a struct by their names; of a list its values, without one. */
  readonly inner?: readonly TypeField[];
  readonly position: number;
}

/** A field of a struct's type, or the values of a list. */
export interface TypeField {
  readonly name: Name | undefined;
  readonly type: TypeName;
}

/** `WHEN when THEN result`. */
export interface CaseBranch {
  readonly when: Expression;
  readonly result: Expression;
}

/** Properties of every node: the 1-based position for errors. */
interface Node<Kind extends string> {
  readonly kind: Kind;
  readonly position: number;
}

/** A value as it was written. */
export interface Literal extends Node<'literal'> {
  readonly value: LiteralValue;
}
/** `$1`, or `?` with the number of its place among them: a parameter. */
interface Placeholder extends Node<'parameter'> {
  /** From 1. */
  readonly number: number;
}
/** A column, or a field inside one: `a`, `a.b`. */
export interface ColumnName extends Node<'column'> {
  readonly path: readonly Name[];
}
/** A field of a computed struct: `l[1].b`. */
interface FieldAccess extends Node<'field'> {
  readonly operand: Expression;
  readonly name: Name;
}
/** `a['field']` or, counted from 1, `l[2]`. */
interface ElementAccess extends Node<'element'> {
  readonly operand: Expression;
  readonly index: Expression;
}
/** `NOT a`. */
interface Not extends Node<'not'> {
  readonly operand: Expression;
}
/** `-a`. */
interface Negation extends Node<'negate'> {
  readonly operand: Expression;
}
/** Two or more operands. A chain is one node, so that a long one is not a deep one. */
interface Junction extends Node<'and' | 'or'> {
  readonly operands: readonly Expression[];
}
/** `a < b`, `a IS DISTINCT FROM b`. */
interface Comparison extends Node<'comparison'> {
  readonly operator: ComparisonOperator;
  readonly left: Expression;
  readonly right: Expression;
}
/** `a + b`. */
interface Arithmetic extends Node<'arithmetic'> {
  readonly operator: ArithmeticOperator;
  readonly left: Expression;
  readonly right: Expression;
}
/** `a || b || ...`, two or more operands. */
interface Concatenation extends Node<'concatenation'> {
  readonly operands: readonly Expression[];
}
/** `a IS [NOT] NULL`. */
export interface IsTest extends Node<'is'> {
  readonly operand: Expression;
  readonly test: 'null' | 'true' | 'false' | 'unknown';
  readonly negated: boolean;
}
/** `a [NOT] IN (b, c)`, one item or more. */
interface In extends Node<'in'> {
  readonly operand: Expression;
  readonly items: readonly Expression[];
  readonly negated: boolean;
}
/** `a [NOT] BETWEEN b AND c`, both ends included. */
interface Between extends Node<'between'> {
  readonly operand: Expression;
  readonly low: Expression;
  readonly high: Expression;
  readonly negated: boolean;
}
/** `a [NOT] LIKE b [ESCAPE 'c']`, and ILIKE. */
export interface Like extends Node<'like'> {
  readonly operand: Expression;
  readonly pattern: Expression;
  /** One character, or empty for none. */
  readonly escape: string;
  readonly ignoreCase: boolean;
  readonly negated: boolean;
}
/** `CASE [a] WHEN b THEN c [ELSE d] END`. */
export interface Case extends Node<'case'> {
  readonly operand: Expression | undefined;
  readonly branches: readonly CaseBranch[];
  readonly otherwise: Expression | undefined;
}
/** `CAST(a AS type)`, `a::type`, and TRY_CAST. */
export interface Cast extends Node<'cast'> {
  readonly operand: Expression;
  readonly target: TypeName;
  /** Whether it is TRY_CAST, which is null where CAST would fail. */
  readonly tries: boolean;
}
/** The name is lower-case. */
export interface CallExpression extends Node<'call'> {
  readonly name: string;
  readonly arguments: readonly Expression[];
}
/** `[1, 2]`. */
interface ListLiteral extends Node<'list'> {
  readonly items: readonly Expression[];
}

/**
 * An expression as written, before any column is known. Frozen; the parser
 * makes it, the binder and the printer read it, and no one changes it.
 */
export type Expression =
  | Literal
  | Placeholder
  | ColumnName
  | FieldAccess
  | ElementAccess
  | Not
  | Negation
  | Junction
  | Comparison
  | Arithmetic
  | Concatenation
  | IsTest
  | In
  | Between
  | Like
  | Case
  | Cast
  | CallExpression
  | ListLiteral;

type Children = {
  readonly [Kind in Expression['kind']]: (
    node: Extract<Expression, { kind: Kind }>,
  ) => readonly Expression[];
};

function present(nodes: readonly (Expression | undefined)[]): readonly Expression[] {
  return nodes.filter((node) => node !== undefined);
}

const children: Children = {
  literal: () => [],
  parameter: () => [],
  column: () => [],
  field: ({ operand }) => [operand],
  element: ({ operand, index }) => [operand, index],
  not: ({ operand }) => [operand],
  negate: ({ operand }) => [operand],
  and: ({ operands }) => operands,
  or: ({ operands }) => operands,
  comparison: ({ left, right }) => [left, right],
  arithmetic: ({ left, right }) => [left, right],
  concatenation: ({ operands }) => operands,
  is: ({ operand }) => [operand],
  in: ({ operand, items }) => [operand, ...items],
  between: ({ operand, low, high }) => [operand, low, high],
  like: ({ operand, pattern }) => [operand, pattern],
  case: ({ operand, branches, otherwise }) =>
    present([operand, ...branches.flatMap(({ when, result }) => [when, result]), otherwise]),
  cast: ({ operand }) => [operand],
  call: (node) => node.arguments,
  list: ({ items }) => items,
};

/** The direct children of a node, in the order of the text. */
export function subexpressions(expression: Expression): readonly Expression[] {
  return children[expression.kind](expression as never);
}
