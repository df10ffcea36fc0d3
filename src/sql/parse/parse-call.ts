import type { Expression } from '../values/expression.ts';
import { level, type Parser } from './parser.ts';

/** Parses a call with keywords between its arguments. The opening parenthesis has been read. */
type Special = (parser: Parser, position: number) => Expression | undefined;

function call(
  parser: Parser,
  position: number,
  name: string,
  args: readonly Expression[],
): Expression {
  parser.cursor.expectSymbol(')');
  return parser.build({ kind: 'call', position, name, arguments: Object.freeze([...args]) });
}

/** `extract(year from x)` is `date_part('year', x)`. */
const parseExtract: Special = (parser, position) => {
  const { cursor } = parser;
  const unit = cursor.peek();
  if (unit.kind !== 'name' && unit.kind !== 'string') {
    return cursor.fail('a part of a date such as YEAR');
  }
  cursor.next();
  cursor.expectWord('from');
  const value = { type: 'text', value: unit.text.toLowerCase() } as const;
  const part = parser.build({
    kind: 'literal',
    position: unit.position,
    value: Object.freeze(value),
  });
  return call(parser, position, 'date_part', [part, parser.expression(level.none)]);
};

/** `substring(x from 2 for 3)` is `substr(x, 2, 3)`. */
const parseSubstring: Special = (parser, position) => {
  const { cursor } = parser;
  const args = [parser.expression(level.none)];
  if (!cursor.takeWord('from')) {
    while (cursor.takeSymbol(',')) args.push(parser.expression(level.none));
    return call(parser, position, 'substr', args);
  }
  args.push(parser.expression(level.none));
  if (cursor.takeWord('for')) args.push(parser.expression(level.none));
  return call(parser, position, 'substr', args);
};

const sides: readonly (readonly [string, string])[] = [
  ['both', 'trim'],
  ['leading', 'ltrim'],
  ['trailing', 'rtrim'],
];

/** `trim([both | leading | trailing] [characters] from x)`; without FROM the usual form. */
const parseTrim: Special = (parser, position) => {
  const { cursor } = parser;
  const side = sides.find(
    ([word]) => cursor.atWord(word) && !cursor.atSymbol(')', 1) && !cursor.atSymbol(',', 1),
  );
  if (side !== undefined) cursor.next();
  const name = side?.[1] ?? 'trim';
  if (cursor.takeWord('from')) return call(parser, position, name, [parser.expression(level.none)]);
  const first = parser.expression(level.none);
  if (cursor.takeWord('from')) {
    return call(parser, position, name, [parser.expression(level.none), first]);
  }
  const more = cursor.takeSymbol(',') ? [parser.expression(level.none)] : [];
  return call(parser, position, name, [first, ...more]);
};

/** `position('a' in x)` is `strpos(x, 'a')`. */
const parsePosition: Special = (parser, position) => {
  const part = parser.expression(level.comparison);
  parser.cursor.expectWord('in');
  return call(parser, position, 'strpos', [parser.expression(level.none), part]);
};

/** `overlay(x placing 'ab' from 2 for 3)` is `overlay(x, 'ab', 2, 3)`. */
const parseOverlay: Special = (parser, position) => {
  const { cursor } = parser;
  const args = [parser.expression(level.none)];
  if (!cursor.takeWord('placing')) {
    while (cursor.takeSymbol(',')) args.push(parser.expression(level.none));
    return call(parser, position, 'overlay', args);
  }
  args.push(parser.expression(level.none));
  cursor.expectWord('from');
  args.push(parser.expression(level.none));
  if (cursor.takeWord('for')) args.push(parser.expression(level.none));
  return call(parser, position, 'overlay', args);
};

const specials: ReadonlyMap<string, Special> = new Map([
  ['extract', parseExtract],
  ['substring', parseSubstring],
  ['trim', parseTrim],
  ['position', parsePosition],
  ['overlay', parseOverlay],
]);

/** Reads the arguments of a call that has words between them; undefined for an ordinary one. */
export function parseSpecialCall(
  parser: Parser,
  name: string,
  position: number,
): Expression | undefined {
  return specials.get(name)?.(parser, position);
}
