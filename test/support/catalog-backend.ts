import { EmbeddedBackend } from '../../src/engine/handlers/call/backend.ts';
import type { Catalog } from '../../src/engine/catalog/catalog.ts';
import { catalogHandlers } from '../../src/engine/handlers/tables.ts';
import { indexHandlers } from '../../src/engine/handlers/jobs/indices.ts';
import { Tags } from '../../src/engine/versions/lines/tags.ts';
import type { Backend } from '../../src/protocol/backend.ts';
import { memoryCatalog } from './catalog.ts';
import type { MemoryStore } from './memory-store.ts';
import { GivenTables } from './table-view.ts';

export interface CatalogBackend {
  readonly store: MemoryStore;
  readonly catalog: Catalog;
  readonly tables: GivenTables;
  readonly backend: Backend;
}

/** A backend of the catalog's operations over a store in memory. Pages hold at most five entries. */
export function catalogBackend(jsonBody = 4096): CatalogBackend {
  const { store, catalog } = memoryCatalog();
  const tables = new GivenTables();
  const tags = new Tags(store, store);
  const backend = new EmbeddedBackend({
    handlers: {
      ...catalogHandlers(catalog, tables, tags, 5),
      ...indexHandlers({ catalog, tables, tags, pageLimit: 5, attend: () => undefined }),
    },
    jsonBody,
    health: async () => undefined,
    weakness: async () => undefined,
  });
  return { store, catalog, tables, backend };
}
