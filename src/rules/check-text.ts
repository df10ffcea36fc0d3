import { SqlError } from '../sql/errors.ts';
import { parseExpression } from '../sql/parse.ts';

/** What is wrong with the SQL of a check, whatever table it will be about; undefined if nothing is. */
export function checkFault(text: string): string | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return `the check cannot be read: ${error.message}`;
  }
}

/** The columns that the SQL of a check names, each once, as they are written. @throws SqlError */
export function checkColumns(text: string): readonly string[] {
  const found = new Set<string>();
  collect(parseExpression(text), found);
  return [...found];
}

function collect(node: unknown, found: Set<string>): void {
  if (typeof node !== 'object' || node === null) return;
  if (isColumn(node)) found.add(node.path[0].text);
  for (const value of Object.values(node)) collect(value, found);
}

function isColumn(node: object): node is { readonly path: readonly [{ readonly text: string }] } {
  return 'kind' in node && node.kind === 'column' && 'path' in node;
}
