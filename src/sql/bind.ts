import type { DataType } from 'apache-arrow';
import { bindArithmetic, bindNegation } from './bind/bind-arithmetic.ts';
import { bindBetween, bindComparison, bindIn } from './bind/bind-comparison.ts';
import { boolType, type Bound, type BoundExpression } from './evaluate/bound.ts';
import { bindCastTo, coerce, commonType, isStored, storedType } from './cast/coerce.ts';
import { bindConcatenation } from './bind/concatenate.ts';
import { bindElement, bindField, bindList } from './bind/element.ts';
import { SqlError } from './values/sql-error.ts';
import type {
  CallExpression,
  Case,
  Cast,
  ColumnName,
  Expression,
  IsTest,
  Like,
} from './values/expression.ts';
import {
  folding,
  fold,
  junction,
  negation,
  nullLiteral,
  nullType,
  shared,
} from './evaluate/node.ts';
import { bindCall } from './functions/table.ts';
import { compileLike } from './patterns/like.ts';
import { bindParameter } from './bind/parameters.ts';
import { bindLiteral, textType } from './cast/literals.ts';
import { metered } from './values/meter.ts';
import { findField, momentNow, type ColumnScope } from './bind/scope.ts';
import { typeOfName } from './values/type-name.ts';
import { familyOf, isComputable, plainType, sqlTypeName } from './values/types.ts';

/** The columns of the expression, and the current time. */
interface Statement extends ColumnScope {
  readonly now: bigint;
}

type Binder<Kind extends Expression['kind']> = (
  expression: Extract<Expression, { kind: Kind }>,
  scope: Statement,
) => Bound;

/** A predicate. Throws SqlError `type` for anything that is not boolean. */
function predicate(bound: Bound, where: string): Bound {
  const family = familyOf(bound.type);
  if (family === 'null') return nullLiteral(boolType, bound.position);
  if (family !== 'boolean') {
    throw new SqlError(
      'type',
      `expected a predicate ${where}, found ${sqlTypeName(bound.type)}`,
      bound.position,
    );
  }
  return bound;
}

/** Binds an expression that must be a predicate; some functions return a boolean only there. */
function bindTest(expression: Expression, scope: Statement, where: string): Bound {
  const bound =
    expression.kind === 'call' ? callOf(expression, scope, true) : bindNode(expression, scope);
  return predicate(bound, where);
}

function callOf(
  { name, arguments: args, position }: CallExpression,
  scope: Statement,
  asTest: boolean,
): Bound {
  return bindCall({ name, arguments: bindAll(args, scope), position, now: scope.now, asTest });
}

/** A dotted path: a column, and fields in it. */
function bindColumn({ path, position }: ColumnName, { fields }: Statement): Bound {
  const [first, ...rest] = path;
  const { field } = findField(first!, fields, 'column', position);
  const { name, type: stored } = field;
  const column: Bound = Object.freeze({
    kind: 'column',
    name,
    stored,
    type: plainType(stored),
    position,
    fallible: false,
  } as const);
  return rest.reduce<Bound>((operand, piece) => bindField(operand, piece, position), column);
}

function bindIs({ operand, test, negated, position }: IsTest, scope: Statement): Bound {
  const tested =
    test === 'null'
      ? bindNode(operand, scope)
      : bindTest(operand, scope, `before IS ${test.toUpperCase()}`);
  return fold({
    kind: 'is',
    type: boolType,
    operand: tested,
    test,
    negated,
    position,
    fallible: tested.fallible,
  });
}

function textOperand(bound: Bound): Bound {
  const family = familyOf(bound.type);
  if (family === 'null') return nullLiteral(textType, bound.position);
  if (family !== 'text') {
    throw new SqlError(
      'type',
      `expected a string with LIKE, found ${sqlTypeName(bound.type)}`,
      bound.position,
    );
  }
  return bound;
}

function bindLike(
  { operand, pattern, escape, ignoreCase, negated, position }: Like,
  scope: Statement,
): Bound {
  const [text, like] = [
    textOperand(bindNode(operand, scope)),
    textOperand(bindNode(pattern, scope)),
  ];
  const fixed = like.kind === 'literal' && typeof like.value === 'string' ? like.value : undefined;
  const matcher =
    fixed === undefined ? undefined : compileLike(fixed, escape, ignoreCase, like.position);
  // A pattern from a column may be one that is refused.
  const fallible = text.fallible || like.fallible || fixed === undefined;
  return fold({
    kind: 'like',
    type: boolType,
    operand: text,
    pattern: like,
    matcher,
    escape,
    ignoreCase,
    negated,
    position,
    fallible,
  });
}

function bindWhen(operand: Bound | undefined, when: Expression, scope: Statement): Bound {
  return operand === undefined
    ? bindTest(when, scope, 'after WHEN')
    : bindComparison('=', operand, bindNode(when, scope), when.position);
}

function bindCase({ operand, branches, otherwise, position }: Case, scope: Statement): Bound {
  const subject = operand === undefined ? undefined : shared(bindNode(operand, scope));
  const whens = branches.map(({ when }) => bindWhen(subject, when, scope));
  const results = branches.map(({ result }) => bindNode(result, scope));
  const rest =
    otherwise === undefined ? nullLiteral(nullType, position) : bindNode(otherwise, scope);
  const type = commonType([...results, rest], position);
  const bound = whens.map((when, at) =>
    Object.freeze({ when, result: coerce(results[at]!, type) }),
  );
  const last = coerce(rest, type);
  const fallible =
    last.fallible || bound.some(({ when, result }) => when.fallible || result.fallible);
  return fold({
    kind: 'case',
    type,
    branches: Object.freeze(bound),
    otherwise: last,
    position,
    fallible,
  });
}

function bindCast({ operand, target, tries, position }: Cast, scope: Statement): Bound {
  return bindCastTo(bindNode(operand, scope), typeOfName(target), tries, position);
}

function bindAll(expressions: readonly Expression[], scope: Statement): readonly Bound[] {
  return expressions.map((expression) => bindNode(expression, scope));
}

function bindJunction(
  { kind, operands, position }: Extract<Expression, { kind: 'and' | 'or' }>,
  scope: Statement,
): Bound {
  const where = `next to ${kind.toUpperCase()}`;
  const tests = operands.map((operand) => bindTest(operand, scope, where));
  return junction(kind, tests, position);
}

const binders: { readonly [Kind in Expression['kind']]: Binder<Kind> } = {
  literal: (expression) => bindLiteral(expression),
  parameter: ({ number, position }, { parameters }) => bindParameter(number, parameters, position),
  column: bindColumn,
  field: ({ operand, name, position }, scope) =>
    bindField(bindNode(operand, scope), name, position),
  element: ({ operand, index, position }, scope) =>
    bindElement(bindNode(operand, scope), bindNode(index, scope), position),
  not: ({ operand, position }, scope) => negation(bindTest(operand, scope, 'after NOT'), position),
  negate: ({ operand, position }, scope) => bindNegation(bindNode(operand, scope), position),
  and: bindJunction,
  or: bindJunction,
  comparison: ({ operator, left, right, position }, scope) =>
    bindComparison(operator, bindNode(left, scope), bindNode(right, scope), position),
  arithmetic: ({ operator, left, right, position }, scope) =>
    bindArithmetic(operator, bindNode(left, scope), bindNode(right, scope), position),
  concatenation: ({ operands, position }, scope) =>
    bindConcatenation(bindAll(operands, scope), position),
  is: bindIs,
  in: ({ operand, items, negated, position }, scope) =>
    bindIn(bindNode(operand, scope), bindAll(items, scope), negated, position),
  between: ({ operand, low, high, negated, position }, scope) => {
    const [value, from, to] = [
      bindNode(operand, scope),
      bindNode(low, scope),
      bindNode(high, scope),
    ];
    const inside = bindBetween(value, from, to, position);
    return negated ? negation(inside, position) : inside;
  },
  like: bindLike,
  case: bindCase,
  cast: bindCast,
  call: (expression, scope) => callOf(expression, scope, false),
  list: ({ items, position }, scope) => bindList(bindAll(items, scope), position),
};

function bindNode(expression: Expression, scope: Statement): Bound {
  return binders[expression.kind](expression as never, scope);
}

function resultType(root: Bound): DataType {
  if (isStored(root)) return storedType(root);
  if (!isComputable(root.type)) {
    throw new SqlError(
      'type',
      `expected a result that can be computed, found ${sqlTypeName(root.type)}`,
      root.position,
    );
  }
  return root.type;
}

/**
 * Checks an expression against the columns of a scope: every name is found,
 * every operator and function knows its types, literals are computed. Functions
 * of the clock give the moment of the scope, or of this call. Throws SqlError: `unknown-column`, `unknown-function`, `type`, `value`, `overflow`.
 */
export function bindExpression(expression: Expression, scope: ColumnScope): BoundExpression {
  const now = scope.now ?? momentNow();
  const { budget } = scope;
  const root = metered(budget, () => folding(() => bindNode(expression, { ...scope, now })));
  return Object.freeze({ type: resultType(root), source: expression, root, budget });
}

/**
 * Checks an expression that says which rows are meant. It need not be a predicate yet:
 * `selectRows` refuses what is none. Throws SqlError as `bindExpression` does.
 */
export function bindPredicate(expression: Expression, scope: ColumnScope): BoundExpression {
  const now = scope.now ?? momentNow();
  const statement = { ...scope, now };
  if (expression.kind !== 'call') return bindExpression(expression, statement);
  const { budget } = scope;
  const root = metered(budget, () => folding(() => callOf(expression, statement, true)));
  return Object.freeze({ type: resultType(root), source: expression, root, budget });
}
