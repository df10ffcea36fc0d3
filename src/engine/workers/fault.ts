import { OverBudget } from '../../protocol/budget.ts';
import { CatalogError, errorTable } from '../../protocol/errors.ts';
import type { FaultMessage } from './task.ts';

/** An error as data that can be sent to another thread. */
export function faultMessage(error: unknown): FaultMessage {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  const over = error instanceof OverBudget ? { key: error.key, limit: error.limit } : null;
  if (!(error instanceof CatalogError)) {
    return { name: null, message, detail: undefined, stack, over };
  }
  return { name: error.row.name, message, detail: error.detail, stack, over };
}

/** The error that was sent: a refusal stays one. */
export function errorOf({ name, message, detail, stack, over }: FaultMessage): Error {
  if (over !== null) return new OverBudget(over.key, over.limit);
  const row = errorTable.find((known) => known.name === name);
  const error =
    row === undefined ? new Error(message) : new CatalogError(row.name, message, detail);
  if (stack !== undefined) error.stack = stack;
  return error;
}
