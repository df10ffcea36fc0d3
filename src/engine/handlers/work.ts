import type { HandlerTable } from '../handler.ts';
import { backfillColumns, type BackfillColumnsParts } from './backfill-columns.ts';
import { createIndex } from './create-index.ts';
import { foreignCodeHandlers } from './foreign-code.ts';
import { jobHandlers } from './jobs.ts';
import type { TransactionParts } from './transaction-view.ts';
import { transactionHandlers } from './transactions.ts';

/** The operations of work that goes on after its request, and of what this service cannot run. */
export function workHandlers(
  parts: BackfillColumnsParts & TransactionParts & { readonly page: number },
): HandlerTable {
  return {
    AlterTableBackfillColumns: backfillColumns(parts),
    CreateTableIndex: createIndex(parts),
    CreateTableScalarIndex: createIndex(parts),
    ...transactionHandlers(parts),
    ...jobHandlers(parts, parts.page),
    ...foreignCodeHandlers,
  };
}
