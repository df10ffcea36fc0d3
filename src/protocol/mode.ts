import { CatalogError } from './errors.ts';
import type { Operation } from './operations/operation.ts';

/** Modes of several words. Clients spell them with and without the underscore. */
const severalWords: ReadonlyMap<string, string> = new Map([['existok', 'exist_ok']]);

const QUOTED = /^"(.*)"$/s;

/**
 * The one spelling of a mode or behavior: lower case, `exist_ok` for all its forms.
 * Quotes around it go: LanceDB sends some modes with literal ones.
 */
export function normalMode(text: string): string {
  const plain = (QUOTED.exec(text)?.[1] ?? text).toLowerCase();
  return severalWords.get(plain.replaceAll('_', '')) ?? plain;
}

/**
 * A field with a closed set of values, such as `mode`, in its one spelling; its
 * default when it is absent.
 * @throws CatalogError InvalidInput for a value that the operation does not know.
 */
export function choiceOf(operation: Operation, field: string, text: string | undefined): string {
  const values = operation.choices[field] ?? [];
  const value = text === undefined ? values[0] : normalMode(text);
  if (value !== undefined && values.includes(value)) return value;
  throw new CatalogError(
    'InvalidInput',
    `${JSON.stringify(text ?? '')} is no ${field} of ${operation.name}; it knows ${values.join(', ')}`,
  );
}

/**
 * The mode of a request by its query, in its one spelling: the first of the
 * operation's when it names none. Undefined where the query has no mode to
 * name, or names one that the operation does not know.
 */
export function queryMode(
  operation: Operation,
  query: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  if (operation.modeIn !== 'query') return undefined;
  const modes = operation.choices['mode'] ?? [];
  const text = query.get('mode')?.[0];
  const mode = text === undefined ? modes[0] : normalMode(text);
  return modes.find((each) => each === mode);
}
