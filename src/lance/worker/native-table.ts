import type * as LanceDb from '@lancedb/lancedb';

/** A connection of the library below its classes for rows, which would decode them. */
interface NativeConnection {
  createTable(
    name: string,
    file: Uint8Array,
    mode: string,
    namespace: string[],
  ): Promise<NativeTable>;
}

/** A table of the library, likewise. */
export interface NativeTable {
  isOpen(): boolean;
  close(): void;
  checkoutLatest(): Promise<void>;
  add(file: Uint8Array, mode: string): Promise<object>;
  delete(predicate: string): Promise<object>;
  update(predicate: string | null, columns: readonly (readonly string[])[]): Promise<object>;
  mergeInsert(on: readonly string[]): NativeMerge;
  addColumnsWithSchema(file: Uint8Array): Promise<object>;
  alterColumns(alterations: readonly object[]): Promise<object>;
}

interface NativeMerge {
  whenMatchedUpdateAll(condition: string | null): NativeMerge;
  whenNotMatchedInsertAll(): NativeMerge;
  whenNotMatchedBySourceDelete(filter: string | null): NativeMerge;
  useIndex(useIndex: boolean): NativeMerge;
  execute(file: Uint8Array): Promise<object>;
}

/** Returns the native object of a connection. */
export function nativeConnection(connection: LanceDb.Connection): NativeConnection {
  return (connection as unknown as { readonly inner: NativeConnection }).inner;
}

/** Returns the native object of a table. */
export function nativeTable(table: LanceDb.Table): NativeTable {
  return (table as unknown as { readonly inner: NativeTable }).inner;
}
