import type { BoundExpression } from '../../src/sql/evaluate/bound.ts';
import { formatDate, formatTime, formatTimestamp } from '../../src/sql/values/calendar.ts';
import type { Expression, LiteralValue, Name, TypeName } from '../../src/sql/values/expression.ts';
import { formatInterval } from '../../src/sql/values/interval.ts';
import { level } from '../../src/sql/parse/parser.ts';

function quoteName(text: string): string {
  return `\`${text.replaceAll('`', '``')}\``;
}

function printName({ text, quoted }: Name): string {
  return quoted ? quoteName(text) : text;
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

type LiteralPrinters = {
  readonly [Type in LiteralValue['type']]: (value: Extract<LiteralValue, { type: Type }>) => string;
};

const literalPrinters: LiteralPrinters = {
  null: () => 'NULL',
  boolean: ({ value }) => (value ? 'TRUE' : 'FALSE'),
  integer: ({ value }) => String(value),
  number: ({ text }) => text,
  text: ({ value }) => quoteText(value),
  binary: ({ hex }) => `X'${hex}'`,
  date: ({ days }) => `DATE '${formatDate(days)}'`,
  time: ({ nanoseconds }) => `TIME '${formatTime(nanoseconds)}'`,
  timestamp: ({ nanoseconds, zoned }) =>
    `TIMESTAMP '${formatTimestamp(nanoseconds)}${zoned ? 'Z' : ''}'`,
  interval: ({ interval }) => `INTERVAL '${formatInterval(interval)}'`,
};

function printType({ name, parameters, inner }: TypeName): string {
  if (inner !== undefined) {
    const fields = inner.map((field) =>
      field.name === undefined
        ? printType(field.type)
        : `${printName(field.name)} ${printType(field.type)}`,
    );
    return `${name === 'list' ? 'array' : name}<${fields.join(', ')}>`;
  }
  if (parameters.length === 0) return name;
  const [first, ...rest] = name.split(' ');
  return [`${first}(${parameters.join(', ')})`, ...rest].join(' ');
}

/** Binding power by kind; other kinds never need parentheses. */
const levels: Readonly<Partial<Record<Expression['kind'], number>>> = {
  or: level.or,
  and: level.and,
  not: level.not,
  is: level.is,
  in: level.comparison,
  between: level.comparison,
  like: level.comparison,
  concatenation: level.concatenation,
  negate: level.sign,
};

function levelOf(expression: Expression): number {
  if (expression.kind === 'comparison') {
    return expression.operator.startsWith('is') ? level.is : level.comparison;
  }
  if (expression.kind === 'arithmetic') {
    return expression.operator === '+' || expression.operator === '-' ? level.sum : level.product;
  }
  return levels[expression.kind] ?? level.postfix;
}

/** Prints with parentheses unless the expression binds tighter than `above`. */
function print(expression: Expression, above: number): string {
  const text = printers[expression.kind](expression as never);
  return levelOf(expression) > above ? text : `(${text})`;
}

function printList(items: readonly Expression[]): string {
  return items.map((item) => print(item, level.none)).join(', ');
}

type Printers = {
  readonly [Kind in Expression['kind']]: (
    expression: Extract<Expression, { kind: Kind }>,
  ) => string;
};

function printJunction(expression: Extract<Expression, { kind: 'and' | 'or' }>): string {
  const above = level[expression.kind];
  return expression.operands
    .map((operand) => print(operand, above))
    .join(` ${expression.kind.toUpperCase()} `);
}

/** A signed literal, or a name that starts a literal, needs parentheses before `.`, `[` or `::`. */
function printPostfixOperand(operand: Expression): string {
  const bare =
    operand.kind === 'element' ||
    operand.kind === 'field' ||
    operand.kind === 'call' ||
    operand.kind === 'column';
  return bare ? print(operand, level.sign) : `(${print(operand, level.none)})`;
}

function not(negated: boolean): string {
  return negated ? ' NOT' : '';
}

function printLike({
  operand,
  pattern,
  escape,
  ignoreCase,
  negated,
}: Extract<Expression, { kind: 'like' }>): string {
  const [left, right] = [print(operand, level.is), print(pattern, level.comparison)];
  const suffix = escape === '\\' ? '' : ` ESCAPE ${quoteText(escape)}`;
  return `${left}${not(negated)} ${ignoreCase ? 'ILIKE' : 'LIKE'} ${right}${suffix}`;
}

function printCase({
  operand,
  branches,
  otherwise,
}: Extract<Expression, { kind: 'case' }>): string {
  const subject = operand === undefined ? '' : ` ${print(operand, level.none)}`;
  const whens = branches.map(
    (b) => ` WHEN ${print(b.when, level.none)} THEN ${print(b.result, level.none)}`,
  );
  const rest = otherwise === undefined ? '' : ` ELSE ${print(otherwise, level.none)}`;
  return `CASE${subject}${whens.join('')}${rest} END`;
}

const printers: Printers = {
  literal: ({ value }) => literalPrinters[value.type](value as never),
  parameter: ({ number }) => `$${number}`,
  column: ({ path }) => path.map(printName).join('.'),
  // Without parentheses the field of a column would be read as part of its path.
  field: ({ operand, name }) =>
    `${operand.kind === 'column' ? `(${print(operand, level.none)})` : printPostfixOperand(operand)}.${printName(name)}`,
  element: ({ operand, index }) => `${printPostfixOperand(operand)}[${print(index, level.none)}]`,
  not: ({ operand }) => `NOT ${print(operand, level.and)}`,
  negate: ({ operand }) =>
    `-${operand.kind === 'literal' || operand.kind === 'negate' ? `(${print(operand, level.none)})` : print(operand, level.product)}`,
  and: printJunction,
  or: printJunction,
  comparison: ({ operator, left, right }) =>
    `${print(left, operator.startsWith('is') ? level.not : level.is)} ${operator.toUpperCase()} ${print(right, level.comparison)}`,
  arithmetic: (expression) => {
    const above = levelOf(expression);
    return `${print(expression.left, above - 1)} ${expression.operator} ${print(expression.right, above)}`;
  },
  concatenation: ({ operands }) =>
    operands.map((operand) => print(operand, level.concatenation)).join(' || '),
  is: ({ operand, test, negated }) =>
    `${print(operand, level.not)} IS${not(negated)} ${test.toUpperCase()}`,
  in: ({ operand, items, negated }) =>
    `${print(operand, level.is)}${not(negated)} IN (${printList(items)})`,
  between: ({ operand, low, high, negated }) =>
    `${print(operand, level.is)}${not(negated)} BETWEEN ${print(low, level.comparison)} AND ${print(high, level.comparison)}`,
  like: printLike,
  case: printCase,
  cast: ({ operand, target, tries }) =>
    `${tries ? 'TRY_CAST' : 'CAST'}(${print(operand, level.none)} AS ${printType(target)})`,
  call: ({ name, arguments: args }) => `${name}(${printList(args)})`,
  list: ({ items }) => `[${printList(items)}]`,
};

/** The text of an expression, bound or not: `parseExpression` reads the same tree from it. */
export function printExpression(expression: Expression | BoundExpression): string {
  return print('source' in expression ? expression.source : expression, level.none);
}
