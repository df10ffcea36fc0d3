import { CatalogError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';
import { decodeTable } from '../catalog/records-codec.ts';
import type { Stored, TableRecord } from '../catalog/records.ts';

/** Work in the background that is of no use any more: the next version asks for it anew. */
export function givenUp(why: string): CatalogError {
  return new CatalogError('ConcurrentModification', `work in the background was given up: ${why}`);
}

/**
 * The record of a table as it is now. A table that was renamed is left alone until
 * somebody writes it again.
 * @throws CatalogError ConcurrentModification when it is another table
 */
export async function currentTable(
  store: Store,
  { key, content }: Stored<TableRecord>,
): Promise<Stored<TableRecord>> {
  const value = await store.get(key);
  const current = value === undefined ? undefined : decodeTable(value);
  if (value === undefined || current?.id !== content.id) throw givenUp('the table is gone');
  return { key, value, content: current };
}
