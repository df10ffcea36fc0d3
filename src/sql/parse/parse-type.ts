import { SqlError } from '../values/sql-error.ts';
import type { TypeField, TypeName } from '../values/expression.ts';
import type { TokenCursor } from './cursor.ts';
import { maxTypeDepth } from '../values/limits.ts';
import { parseFieldName } from './path.ts';

function parseParameter(cursor: TokenCursor): number {
  const { kind, text } = cursor.peek();
  return kind === 'number' && /^\d{1,4}$/.test(text)
    ? Number(cursor.next().text)
    : cursor.fail('a whole number');
}

function parseParameters(cursor: TokenCursor): readonly number[] {
  if (!cursor.takeSymbol('(')) return Object.freeze([]);
  const parameters = [parseParameter(cursor)];
  while (cursor.takeSymbol(',')) parameters.push(parseParameter(cursor));
  cursor.expectSymbol(')');
  return Object.freeze(parameters);
}

/** The words that may follow the first word of a type's name. */
function parseSuffix(cursor: TokenCursor, first: string): string {
  if (cursor.takeWord('unsigned')) return `${first} unsigned`;
  if (first === 'double' && cursor.takeWord('precision')) return first;
  for (const word of first === 'timestamp' ? (['with', 'without'] as const) : []) {
    if (cursor.takeWord(word)) {
      cursor.expectWord('time');
      cursor.expectWord('zone');
      return word === 'with' ? 'timestamptz' : first;
    }
  }
  return first;
}

/** `array<int>` or `list<int>`. */
function parseList(cursor: TokenCursor, depth: number): readonly TypeField[] {
  cursor.expectSymbol('<');
  const type = parseNested(cursor, depth + 1);
  cursor.expectSymbol('>');
  return Object.freeze([Object.freeze({ name: undefined, type })]);
}

/** `struct<a int, b: text>`. */
function parseStruct(cursor: TokenCursor, depth: number): readonly TypeField[] {
  cursor.expectSymbol('<');
  const fields: TypeField[] = [];
  do {
    const name = parseFieldName(cursor);
    cursor.takeSymbol(':');
    fields.push(Object.freeze({ name, type: parseNested(cursor, depth + 1) }));
  } while (cursor.takeSymbol(','));
  cursor.expectSymbol('>');
  return Object.freeze(fields);
}

const nested: ReadonlyMap<string, 'list' | 'struct'> = new Map([
  ['array', 'list'],
  ['list', 'list'],
  ['struct', 'struct'],
]);

function parseNested(cursor: TokenCursor, depth: number): TypeName {
  const { text, position } = cursor.peek();
  if (depth > maxTypeDepth) {
    const message = `expected at most ${maxTypeDepth} nested types, found more`;
    throw new SqlError('limit', message, position);
  }
  const kind = cursor.atSymbol('<', 1) ? nested.get(text.toLowerCase()) : undefined;
  let type = kind === undefined ? parsePlain(cursor) : parseKind(cursor, kind, depth);
  for (let levels = depth; cursor.atSymbol('[') && cursor.atSymbol(']', 1); levels++) {
    if (levels > maxTypeDepth) {
      const message = `expected at most ${maxTypeDepth} nested types, found more`;
      throw new SqlError('limit', message, position);
    }
    cursor.next();
    cursor.next();
    const inner = Object.freeze([Object.freeze({ name: undefined, type })]);
    type = Object.freeze({ name: 'list', parameters: Object.freeze([]), inner, position });
  }
  return type;
}

function parseKind(cursor: TokenCursor, kind: 'list' | 'struct', depth: number): TypeName {
  const { position } = cursor.next();
  const inner = kind === 'list' ? parseList(cursor, depth) : parseStruct(cursor, depth);
  return Object.freeze({ name: kind, parameters: Object.freeze([]), inner, position });
}

/** Reads the name of a type: `bigint`, `decimal(10, 2)`, `int[]`, `array<int>`, `struct<a int, b text>`. */
export function parseTypeName(cursor: TokenCursor): TypeName {
  return parseNested(cursor, 1);
}

/** `bigint`, `int unsigned`, `decimal(10, 2)`, `timestamp(3)`. */
function parsePlain(cursor: TokenCursor): TypeName {
  const { kind, text, position } = cursor.peek();
  if (kind !== 'name') return cursor.fail('the name of a type');
  if (text.length > 64) {
    throw new SqlError(
      'syntax',
      `expected the name of a type, found a word of ${text.length} characters`,
      position,
    );
  }
  cursor.next();
  const parameters = parseParameters(cursor);
  const name = parseSuffix(cursor, text.toLowerCase());
  return Object.freeze({ name, parameters, position });
}
