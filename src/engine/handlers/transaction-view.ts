import type { ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operation-name.ts';
import type { Permit } from '../../protocol/permit.ts';
import type { Store } from '../../store/store.ts';
import { LastPaths } from '../catalog/table-search.ts';
import { transactionNotFound, type Transactions } from '../jobs/transactions.ts';
import type { TransactionRecord } from '../jobs/transaction.ts';

export interface TransactionParts {
  readonly store: Store;
  readonly transactions: Transactions;
}

/** A transaction and where its table is now, or was last. */
export interface PlacedTransaction {
  readonly record: TransactionRecord;
  readonly path: ObjectPath;
}

/**
 * A transaction whose table the caller may see. Those of other tables are as good
 * as none; a caller who may see it but not do this is told so.
 * @throws CatalogError TransactionNotFound, PermissionDenied.
 */
export async function visibleTransaction(
  parts: TransactionParts,
  id: string,
  operation: OperationName,
  permit: Permit,
): Promise<PlacedTransaction> {
  const stored = await parts.transactions.get(id);
  if (stored === undefined) throw transactionNotFound(id);
  const path = await new LastPaths(parts.store).of(stored.content.table);
  if (!permit.sees(path, 'table')) throw transactionNotFound(id);
  permit.require(operation, path);
  return { record: stored.content, path };
}

/** The transactions that a caller may see, in the order in which they began, beyond an id. */
export async function* visibleTransactions(
  parts: TransactionParts,
  after: string,
  operation: OperationName,
  permit: Permit,
): AsyncGenerator<PlacedTransaction> {
  const paths = new LastPaths(parts.store);
  for await (const record of parts.transactions.after(after)) {
    const path = await paths.of(record.table);
    if (permit.sees(path, 'table') && permit.holds(operation, path)) yield { record, path };
  }
}
