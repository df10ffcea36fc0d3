import type { CaseBranch, Expression } from '../values/expression.ts';
import { reservedWords } from './cursor.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxParameters } from '../values/limits.ts';
import { parseSpecialCall } from './parse-call.ts';
import { parseLiteral } from './parse-literal.ts';
import { parseNames } from './path.ts';
import { parseTypeName } from './parse-type.ts';
import { level, type Parser } from './parser.ts';

function parseItems(parser: Parser, close: string): readonly Expression[] {
  const items: Expression[] = [];
  if (parser.cursor.takeSymbol(close)) return Object.freeze(items);
  do {
    items.push(parser.expression(level.none));
  } while (parser.cursor.takeSymbol(','));
  parser.cursor.expectSymbol(close);
  return Object.freeze(items);
}

function parseBranches(parser: Parser): readonly CaseBranch[] {
  const branches: CaseBranch[] = [];
  while (parser.cursor.takeWord('when')) {
    const when = parser.expression(level.none);
    parser.cursor.expectWord('then');
    branches.push(Object.freeze({ when, result: parser.expression(level.none) }));
  }
  return branches.length === 0 ? parser.cursor.fail('WHEN') : Object.freeze(branches);
}

function parseCase(parser: Parser, position: number): Expression {
  const { cursor } = parser;
  const operand = cursor.atWord('when') ? undefined : parser.expression(level.none);
  const branches = parseBranches(parser);
  const otherwise = cursor.takeWord('else') ? parser.expression(level.none) : undefined;
  cursor.expectWord('end');
  return parser.build({ kind: 'case', position, operand, branches, otherwise });
}

function parseCastCall(parser: Parser, position: number, tries: boolean): Expression {
  const { cursor } = parser;
  cursor.expectSymbol('(');
  const operand = parser.expression(level.none);
  cursor.expectWord('as');
  const target = parseTypeName(cursor);
  cursor.expectSymbol(')');
  return parser.build({ kind: 'cast', position, operand, target, tries });
}

function parseCall(parser: Parser): Expression {
  const { cursor } = parser;
  const { text, position } = cursor.next();
  const name = text.toLowerCase();
  cursor.expectSymbol('(');
  const special = parseSpecialCall(parser, name, position);
  return (
    special ?? parser.build({ kind: 'call', position, name, arguments: parseItems(parser, ')') })
  );
}

/** Calls without parentheses; quoted they are columns. */
const clockWords: ReadonlySet<string> = new Set([
  'current_date',
  'current_time',
  'current_timestamp',
]);

function parseParentheses(parser: Parser): Expression {
  const inner = parser.expression(level.none);
  parser.cursor.expectSymbol(')');
  return inner;
}

/** `$2` has its number, `?` that of its place among those of the text. */
function parseParameter(parser: Parser): Expression {
  const { text, position } = parser.cursor.next();
  const number = text === '?' ? parser.nextMark() : Number(text.slice(1));
  if (number > maxParameters) {
    const message = `expected at most ${maxParameters} parameters, found ${text}`;
    throw new SqlError('limit', message, position);
  }
  return parser.build({ kind: 'parameter', position, number });
}

/** Parses a primary: a literal, a name, a call, a CASE, parentheses. */
export function parsePrimary(parser: Parser): Expression {
  const { cursor } = parser;
  const { kind, text, position } = cursor.peek();
  const value = parseLiteral(cursor);
  if (value !== undefined) {
    return parser.build({ kind: 'literal', position, value: Object.freeze(value) });
  }
  if (kind === 'parameter') return parseParameter(parser);
  if (cursor.takeSymbol('(')) return parseParentheses(parser);
  if (cursor.takeSymbol('[')) {
    return parser.build({ kind: 'list', position, items: parseItems(parser, ']') });
  }
  if (cursor.atWord('array') && cursor.atSymbol('[', 1)) {
    cursor.next();
    cursor.next();
    return parser.build({ kind: 'list', position, items: parseItems(parser, ']') });
  }
  if (cursor.takeWord('case')) return parseCase(parser, position);
  if (cursor.takeWord('cast')) return parseCastCall(parser, position, false);
  if (cursor.atWord('try_cast') && cursor.atSymbol('(', 1)) {
    cursor.next();
    return parseCastCall(parser, position, true);
  }
  if (kind === 'name' && cursor.atSymbol('(', 1) && !reservedWords.has(text.toLowerCase())) {
    return parseCall(parser);
  }
  if (kind === 'name' && clockWords.has(text.toLowerCase())) {
    cursor.next();
    return parser.build({ kind: 'call', position, name: text.toLowerCase(), arguments: [] });
  }
  if (kind === 'quoted' || (kind === 'name' && !reservedWords.has(text.toLowerCase()))) {
    return parser.build({ kind: 'column', position, path: parseNames(cursor) });
  }
  return cursor.fail('an expression');
}
