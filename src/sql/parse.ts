import type { Expression } from './values/expression.ts';
import { TokenCursor } from './parse/cursor.ts';
import { infixLevel, parseInfix } from './parse/parse-infix.ts';
import { parsePrimary } from './parse/parse-primary.ts';
import { DepthGuard, level, type Parser } from './parse/parser.ts';

function parsePrefix(parser: Parser): Expression {
  const { cursor } = parser;
  const { position } = cursor.peek();
  if (cursor.takeWord('not')) {
    return parser.build({ kind: 'not', position, operand: parser.expression(level.not - 1) });
  }
  if (cursor.atSymbol('-') && cursor.peek(1).kind !== 'number') {
    cursor.next();
    return parser.build({ kind: 'negate', position, operand: parser.expression(level.sign - 1) });
  }
  if (cursor.takeSymbol('+')) return parser.expression(level.sign - 1);
  return parsePrimary(parser);
}

function parseAbove(parser: Parser, minimum: number): Expression {
  let left = parsePrefix(parser);
  for (;;) {
    const found = infixLevel(parser.cursor);
    if (found <= minimum) return left;
    left = parseInfix(parser, left);
  }
}

function createParser(cursor: TokenCursor): Parser {
  const guard = new DepthGuard();
  let marks = 0;
  const parser: Parser = {
    cursor,
    expression(minimum) {
      guard.enter(cursor.peek().position);
      const expression = parseAbove(parser, minimum);
      guard.leave();
      return expression;
    },
    nextMark() {
      marks++;
      return marks;
    },
    build(node) {
      guard.measure(node);
      return Object.freeze(node);
    },
  };
  return parser;
}

/**
 * Reads the text of one expression into its tree. Columns and functions are not
 * looked up yet. Throws SqlError: `syntax`, `value` for a literal that is no
 * date, time or interval, `overflow` for a number beyond 38 digits, `limit` for
 * text above 1 MiB or more than 200 levels.
 */
export function parseExpression(text: string): Expression {
  const cursor = new TokenCursor(text);
  const expression = createParser(cursor).expression(level.none);
  if (cursor.peek().kind !== 'end') cursor.fail('an operator or the end of the text');
  return expression;
}
