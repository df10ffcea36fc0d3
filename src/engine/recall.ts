import { CatalogError, type ErrorName } from '../protocol/errors.ts';
import { StoreError } from '../store/errors.ts';
import type { Handler, HandlerTable } from './handler.ts';
import { namesVersion } from './parameters.ts';

/**
 * Answers from what was read before when the store is away and a version is
 * asked for by its number or a tag; everything else stays refused.
 * @param past The operations that can; they may refuse what they do not know as the store does.
 */
export function withRecall(handlers: HandlerTable, past: HandlerTable): HandlerTable {
  const both = Object.entries(past).map(([name, recall]) => {
    const handler = handlers[name as keyof HandlerTable];
    return [name, handler === undefined ? recall : recalling(handler, recall)] as const;
  });
  return { ...handlers, ...Object.fromEntries(both) };
}

function recalling(handler: Handler, recall: Handler): Handler {
  return async (call) => {
    try {
      return await handler(call);
    } catch (error) {
      if (!isAway(error) || !namesVersion(call)) throw error;
      return recall(call).catch((refusal: unknown) => {
        throw saysMissing(refusal) ? error : refusal;
      });
    }
  };
}

function isAway(error: unknown): boolean {
  return error instanceof StoreError && error.kind === 'unavailable';
}

/** What is not known here may be there all the same. */
function saysMissing(refusal: unknown): boolean {
  return refusal instanceof CatalogError && missing.has(refusal.row.name);
}

const missing: ReadonlySet<ErrorName> = new Set([
  'NamespaceNotFound',
  'TableNotFound',
  'TableVersionNotFound',
  'TableTagNotFound',
  'TableBranchNotFound',
]);
