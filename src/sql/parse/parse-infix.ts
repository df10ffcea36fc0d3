import type {
  ArithmeticOperator,
  ComparisonOperator,
  Expression,
  IsTest,
} from '../values/expression.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import type { TokenCursor } from './cursor.ts';
import { level, type Parser } from './parser.ts';
import { parseFieldName } from './path.ts';
import { parseTypeName } from './parse-type.ts';

type Infix = (parser: Parser, left: Expression, position: number) => Expression;

interface InfixRow {
  readonly level: number;
  readonly parse: Infix;
}

function compare(operator: ComparisonOperator): InfixRow {
  return {
    level: level.comparison,
    parse: (parser, left, position) =>
      parser.build({
        kind: 'comparison',
        position,
        operator,
        left,
        right: parser.expression(level.comparison),
      }),
  };
}

function arithmetic(operator: ArithmeticOperator, above: number): InfixRow {
  return {
    level: above,
    parse: (parser, left, position) =>
      parser.build({
        kind: 'arithmetic',
        position,
        operator,
        left,
        right: parser.expression(above),
      }),
  };
}

/** Parses the remaining operands of a chain of one operator into one flat node. */
function chain(
  parser: Parser,
  left: Expression,
  above: number,
  more: () => boolean,
): readonly Expression[] {
  const operands = [left, parser.expression(above)];
  while (more()) operands.push(parser.expression(above));
  return Object.freeze(operands);
}

function junction(kind: 'and' | 'or'): InfixRow {
  const above = level[kind];
  return {
    level: above,
    parse: (parser, left, position) => {
      const operands = chain(parser, left, above, () => parser.cursor.takeWord(kind));
      return parser.build({ kind, position, operands });
    },
  };
}

const concatenation: InfixRow = {
  level: level.concatenation,
  parse: (parser, left, position) => {
    const operands = chain(parser, left, level.concatenation, () => parser.cursor.takeSymbol('||'));
    return parser.build({ kind: 'concatenation', position, operands });
  },
};

const parseElement: Infix = (parser, operand, position) => {
  const index = parser.expression(level.none);
  parser.cursor.expectSymbol(']');
  return parser.build({ kind: 'element', position, operand, index });
};

const parseField: Infix = (parser, operand, position) =>
  parser.build({ kind: 'field', position, operand, name: parseFieldName(parser.cursor) });

const parseCast: Infix = (parser, operand, position) =>
  parser.build({
    kind: 'cast',
    position,
    operand,
    target: parseTypeName(parser.cursor),
    tries: false,
  });

/** `x AT TIME ZONE 'zone'` is the call `at_time_zone(x, 'zone')`. */
const parseZone: Infix = (parser, operand, position) => {
  parser.cursor.expectWord('time');
  parser.cursor.expectWord('zone');
  const args = Object.freeze([operand, parser.expression(level.postfix)]);
  return parser.build({ kind: 'call', position, name: 'at_time_zone', arguments: args });
};

function parseIn(
  parser: Parser,
  operand: Expression,
  position: number,
  negated: boolean,
): Expression {
  const { cursor } = parser;
  cursor.expectSymbol('(');
  const items = [parser.expression(level.none)];
  while (cursor.takeSymbol(',')) items.push(parser.expression(level.none));
  cursor.expectSymbol(')');
  return parser.build({ kind: 'in', position, operand, items: Object.freeze(items), negated });
}

function parseBetween(
  parser: Parser,
  operand: Expression,
  position: number,
  negated: boolean,
): Expression {
  const low = parser.expression(level.comparison);
  parser.cursor.expectWord('and');
  const high = parser.expression(level.comparison);
  return parser.build({ kind: 'between', position, operand, low, high, negated });
}

function parseEscape(cursor: TokenCursor): string {
  if (!cursor.takeWord('escape')) return '\\';
  const token = cursor.expectString('the character of ESCAPE in quotes');
  if (Array.from(token.text).length > 1) {
    const message = `expected one character after ESCAPE, found '${excerpt(token.text)}'`;
    throw new SqlError('value', message, token.position);
  }
  return token.text;
}

function parseLike(ignoreCase: boolean): Negatable {
  return (parser, operand, position, negated) => {
    const pattern = parser.expression(level.comparison);
    const escape = parseEscape(parser.cursor);
    return parser.build({ kind: 'like', position, operand, pattern, escape, ignoreCase, negated });
  };
}

type Negatable = (
  parser: Parser,
  left: Expression,
  position: number,
  negated: boolean,
) => Expression;

const negatable: ReadonlyMap<string, Negatable> = new Map<string, Negatable>([
  ['in', parseIn],
  ['between', parseBetween],
  ['like', parseLike(false)],
  ['ilike', parseLike(true)],
]);

const parseNot: Infix = (parser, left, position) => {
  const parse = negatable.get(parser.cursor.next().text.toLowerCase())!;
  return parse(parser, left, position, true);
};

function parseDistinct(
  parser: Parser,
  left: Expression,
  position: number,
  negated: boolean,
): Expression {
  parser.cursor.expectWord('from');
  const operator = negated ? 'is not distinct from' : 'is distinct from';
  return parser.build({
    kind: 'comparison',
    position,
    operator,
    left,
    right: parser.expression(level.comparison),
  });
}

const tests: readonly IsTest['test'][] = ['null', 'true', 'false', 'unknown'];

const parseIs: Infix = (parser, operand, position) => {
  const negated = parser.cursor.takeWord('not');
  if (parser.cursor.takeWord('distinct')) return parseDistinct(parser, operand, position, negated);
  const test = tests.find((word) => parser.cursor.takeWord(word));
  return test === undefined
    ? parser.cursor.fail('NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM')
    : parser.build({ kind: 'is', position, operand, test, negated });
};

const symbols: ReadonlyMap<string, InfixRow> = new Map<string, InfixRow>([
  ['=', compare('=')],
  ['==', compare('=')],
  ['!=', compare('!=')],
  ['<>', compare('!=')],
  ['<', compare('<')],
  ['<=', compare('<=')],
  ['>', compare('>')],
  ['>=', compare('>=')],
  ['||', concatenation],
  ['+', arithmetic('+', level.sum)],
  ['-', arithmetic('-', level.sum)],
  ['*', arithmetic('*', level.product)],
  ['/', arithmetic('/', level.product)],
  ['%', arithmetic('%', level.product)],
  ['::', { level: level.postfix, parse: parseCast }],
  ['[', { level: level.postfix, parse: parseElement }],
  ['.', { level: level.postfix, parse: parseField }],
]);

const words: ReadonlyMap<string, InfixRow> = new Map<string, InfixRow>([
  ['or', junction('or')],
  ['and', junction('and')],
  ['is', { level: level.is, parse: parseIs }],
  ['at', { level: level.postfix, parse: parseZone }],
  ['not', { level: level.comparison, parse: parseNot }],
  ...[...negatable].map(([word, parse]): [string, InfixRow] => [
    word,
    {
      level: level.comparison,
      parse: (parser, left, position) => parse(parser, left, position, false),
    },
  ]),
]);

function infixRow(cursor: TokenCursor): InfixRow | undefined {
  const { kind, text } = cursor.peek();
  if (kind === 'symbol') return symbols.get(text);
  const row = kind === 'name' ? words.get(text.toLowerCase()) : undefined;
  const dangling =
    row !== undefined && cursor.atWord('not') && !negatable.has(cursor.peek(1).text.toLowerCase());
  return dangling ? undefined : row;
}

/** Binding power of the next token; 0 if it is not an operator. */
export function infixLevel(cursor: TokenCursor): number {
  return infixRow(cursor)?.level ?? level.none;
}

/** Reads the operator at the cursor and its right side. The caller has checked `infixLevel`. */
export function parseInfix(parser: Parser, left: Expression): Expression {
  const row = infixRow(parser.cursor)!;
  const { position } = parser.cursor.next();
  return row.parse(parser, left, position);
}
