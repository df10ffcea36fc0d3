import { disk } from '../../test/support/disk.ts';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type * as CatalogModule from '../../src/engine/catalog/catalog.ts';
import type * as JournalModule from '../../src/engine/catalog/journal/journal.ts';
import type * as Embedded from '../../src/store/embedded/store.ts';
import { built } from '../harness/built.ts';

/** So many commits are in progress at once; they share flushes of the disk. */
const AT_ONCE = 500;

/**
 * Puts a namespace and tables without data into the catalog of a data folder
 * that no service has open: one commit each, but without a request.
 */
export async function declareTables(
  data: string,
  namespace: string,
  names: readonly string[],
): Promise<void> {
  const { openEmbeddedStore } = await built<typeof Embedded>('store/embedded/store.js');
  const { openJournal } = await built<typeof JournalModule>('engine/catalog/journal/journal.js');
  const { Catalog } = await built<typeof CatalogModule>('engine/catalog/catalog.js');
  const store = await openEmbeddedStore(join(data, 'private', 'store'));
  const journal = await openJournal(disk, join(data, 'catalog'), store);
  const catalog = new Catalog(store, journal);
  await catalog.createNamespace([namespace], 'create', {});
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const some = names.slice(start, start + AT_ONCE);
    await Promise.all(
      some.map((name) => catalog.createTableCommit([namespace, name], declared(), [], [])),
    );
  }
  await journal.close();
  await store.close();
}

function declared() {
  const properties = {};
  return {
    id: randomUUID(),
    kind: 'declared',
    location: null,
    properties,
    createdMillis: Date.now(),
  } as const;
}
