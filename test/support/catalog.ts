import { randomUUID } from 'node:crypto';
import { Catalog } from '../../src/engine/catalog/catalog.ts';
import type { Committer } from '../../src/engine/catalog/records/commit-loop.ts';
import type { TableKind, TableRecord } from '../../src/engine/format/records.ts';
import { CatalogError } from '../../src/protocol/errors.ts';
import type { ObjectPath } from '../../src/protocol/identifier.ts';
import type { Store } from '../../src/store/store.ts';
import { MemoryStore } from './memory-store.ts';

/** A catalog over a store in memory. */
export function memoryCatalog(): { readonly store: MemoryStore; readonly catalog: Catalog } {
  const store = new MemoryStore();
  return { store, catalog: new Catalog(store, store) };
}

/** A table record with an id of its own. */
export function tableRecord(kind: TableKind = 'engine'): TableRecord {
  return { id: randomUUID(), kind, location: null, properties: {}, createdMillis: 1 };
}

/** Makes a table, and the namespaces above it where they are missing. */
export async function plant(
  catalog: Catalog,
  path: ObjectPath,
  kind?: TableKind,
): Promise<TableRecord> {
  await plantNamespace(catalog, path.slice(0, -1));
  const record = tableRecord(kind);
  await catalog.createTableCommit(path, record, [], []);
  return record;
}

/** Makes a namespace, and those above it, where they are missing. */
export async function plantNamespace(catalog: Catalog, path: ObjectPath): Promise<void> {
  for (let length = 1; length <= path.length; length++) {
    await catalog.createNamespace(path.slice(0, length), 'exist_ok', {});
  }
}

/** How a commit goes wrong: it takes effect or not, and its caller is not told which. */
export type Mishap = 'applied' | 'lost';

/** A committer whose first commits have an unknown outcome. */
export function unsureCommitter(store: Store, mishaps: readonly Mishap[]): Committer {
  const left = [...mishaps];
  return {
    async commit(checks, writes) {
      const mishap = left.shift();
      if (mishap !== 'lost') {
        const result = await store.commit(checks, writes);
        if (mishap === undefined) return result;
      }
      return { kind: 'unknown', reason: 'the line went dead' };
    },
  };
}

/** What a promise is refused with, as `code name: sentence`. */
export async function refusalOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no refusal',
    (error: unknown) => {
      if (!(error instanceof CatalogError)) throw error;
      return `${error.row.code} ${error.row.name}: ${error.message}`;
    },
  );
}
