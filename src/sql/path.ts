import { Cursor } from './cursor.ts';
import { parseNames } from './parse-name.ts';

/**
 * The names of a field path: `a.b` is `['a', 'b']`, and `` a.`b.c` `` is
 * `['a', 'b.c']`. Throws SqlError `syntax` when the text is anything else.
 */
export function parsePath(text: string): readonly string[] {
  const cursor = new Cursor(text);
  const names = parseNames(cursor);
  if (cursor.peek().kind !== 'end') {
    cursor.fail('"." or the end of the path');
  }
  return Object.freeze(names.map((name) => name.text));
}
