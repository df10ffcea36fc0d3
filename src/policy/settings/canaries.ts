import { literalKeys, MAX_LITERAL_KEYS } from '../../sql/literal-keys.ts';
import type { Canary } from '../../protocol/restrictions.ts';
import { SqlError } from '../../sql/values/sql-error.ts';
import { isOfCaller } from './row-values.ts';

/** Rows that nobody should ask for. */
export interface WrittenCanary extends Omit<Canary, 'restriction'> {
  /** SQL that is true for them. */
  readonly sql: string;
}

interface CanaryEntry {
  readonly name: string;
  readonly canary?: string;
  readonly freeze?: boolean;
}

/** The canary of a restriction; undefined if it has none. @param fault Takes each fault with its key. */
export function readCanary(
  { name, canary: sql, freeze }: CanaryEntry,
  fault: (key: 'canary' | 'freeze', text: string) => void,
): WrittenCanary | undefined {
  if (sql === undefined) {
    if (freeze !== undefined)
      fault('freeze', `the restriction ${name} has no canary to freeze for`);
    return undefined;
  }
  const keys = keysIn(name, sql, (text) => fault('canary', text));
  if (freeze === true && keys.length === 0) {
    fault('freeze', `the canary of ${name} has no key that a query could name: ${KEY_HINT}`);
  }
  return { sql, keys, freeze: freeze === true };
}

/** How a canary gets a key. */
export const KEY_HINT = 'compare a column with a literal, as in id = 999999';

function keysIn(name: string, sql: string, fault: (text: string) => void): Canary['keys'] {
  try {
    if (isOfCaller(sql)) {
      fault(`the canary of ${name} names values of the caller: it is the same for everyone`);
    }
    return literalKeys(sql);
  } catch (error) {
    if (error instanceof RangeError)
      fault(`the canary of ${name} has more than ${MAX_LITERAL_KEYS} keys`);
    else if (error instanceof SqlError) fault(`canary cannot be read: ${error.message}`);
    else throw error;
    return [];
  }
}

/** SQL that is true for the rows that are no canaries. */
export function withoutCanaries({ sql }: WrittenCanary): string {
  return `(${sql}) IS NOT TRUE`;
}
