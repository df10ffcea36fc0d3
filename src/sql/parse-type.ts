import { SqlError } from './errors.ts';
import type { TypeName } from './expression.ts';
import type { Cursor } from './cursor.ts';

function parseParameter(cursor: Cursor): number {
  const { kind, text } = cursor.peek();
  return kind === 'number' && /^\d{1,4}$/.test(text)
    ? Number(cursor.next().text)
    : cursor.fail('a whole number');
}

function parseParameters(cursor: Cursor): readonly number[] {
  if (!cursor.takeSymbol('(')) {
    return Object.freeze([]);
  }
  const parameters = [parseParameter(cursor)];
  while (cursor.takeSymbol(',')) {
    parameters.push(parseParameter(cursor));
  }
  cursor.expectSymbol(')');
  return Object.freeze(parameters);
}

/** The words that may follow the first word of a type's name. */
function parseSuffix(cursor: Cursor, first: string): string {
  if (cursor.takeWord('unsigned')) {
    return `${first} unsigned`;
  }
  if (first === 'double' && cursor.takeWord('precision')) {
    return first;
  }
  for (const word of first === 'timestamp' ? (['with', 'without'] as const) : []) {
    if (cursor.takeWord(word)) {
      cursor.expectWord('time');
      cursor.expectWord('zone');
      return word === 'with' ? 'timestamptz' : first;
    }
  }
  return first;
}

/** Reads the name of a type: `bigint`, `int unsigned`, `decimal(10, 2)`, `timestamp(3)`. */
export function parseTypeName(cursor: Cursor): TypeName {
  const { kind, text, position } = cursor.peek();
  if (kind !== 'name') {
    return cursor.fail('the name of a type');
  }
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
