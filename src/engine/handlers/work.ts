import type { HandlerTable } from '../handler.ts';
import { absentHandlers, type AbsentParts } from './absent-parts.ts';
import { backfillColumns, type BackfillColumnsParts } from './backfill-columns.ts';
import { createIndex } from './create-index.ts';
import { foreignCodeHandlers } from './foreign-code.ts';
import { jobHandlers } from './jobs.ts';
import type { TransactionParts } from './transaction-view.ts';
import { transactionHandlers } from './transactions.ts';
import { warmColumns, type WarmingParts } from './warm-columns.ts';

type WorkParts = BackfillColumnsParts & TransactionParts & AbsentParts & WarmingParts;

/** The operations of work that goes on after its request, or before another, and of what this service cannot run. */
export function workHandlers(parts: WorkParts & { readonly page: number }): HandlerTable {
  return {
    AlterTableBackfillColumns: backfillColumns(parts),
    CreateTableIndex: createIndex(parts),
    CreateTableScalarIndex: createIndex(parts),
    ...transactionHandlers(parts),
    ...jobHandlers(parts, parts.page),
    PrewarmPageCache: warmColumns(parts),
    ...foreignCodeHandlers,
    ...absentHandlers(parts),
  };
}
