import { TokenCursor, reservedWords } from './cursor.ts';
import type { Name } from '../values/expression.ts';

/**
 * The names of a field path: `a.b` is `['a', 'b']`, and `` a.`b.c` `` is
 * `['a', 'b.c']`. Throws SqlError `syntax` when the text is anything else.
 */
export function parsePath(text: string): readonly string[] {
  const cursor = new TokenCursor(text);
  const names = parseNames(cursor);
  if (cursor.peek().kind !== 'end') cursor.fail('"." or the end of the path');
  return Object.freeze(names.map((name) => name.text));
}

/** Reads one name, bare or quoted. `what` says in an error what the name was to be. */
function parseName(cursor: TokenCursor, what: string): Name {
  const { kind, text } = cursor.peek();
  if (kind === 'quoted' || (kind === 'name' && !reservedWords.has(text.toLowerCase()))) {
    cursor.next();
    return Object.freeze({ text, quoted: kind === 'quoted' });
  }
  return cursor.fail(what);
}

/** Reads a dotted path of names. */
export function parseNames(cursor: TokenCursor): readonly Name[] {
  const names = [parseName(cursor, 'the name of a column')];
  while (cursor.atSymbol('.')) {
    cursor.next();
    names.push(parseFieldName(cursor));
  }
  return Object.freeze(names);
}

/** Parses the name of a field after a dot, where reserved words need no quotes. */
export function parseFieldName(cursor: TokenCursor): Name {
  const { kind, text } = cursor.peek();
  if (kind === 'name') {
    cursor.next();
    return Object.freeze({ text, quoted: false });
  }
  return parseName(cursor, 'the name of a field');
}
