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
