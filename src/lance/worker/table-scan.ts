import type * as LanceDb from '@lancedb/lancedb';
import type { LibraryTask } from '../wire/messages.ts';
import type { CatalogEndpoint } from './catalog-endpoint.ts';
import { sizedFiles, type LibraryQuery } from './library-query.ts';
import { openAt } from './open-tables.ts';
import type { Await } from './tasks.ts';

/** What a scan works with. */
interface ScanParts {
  readonly library: typeof LanceDb;
  readonly endpoint: CatalogEndpoint;
  readonly until: Await;
}

/** Caches of one scan, in bytes. */
const CACHE_BYTES = 2n ** 24n;

/**
 * All rows of a version, each batch as an Arrow file after its length. The version is opened with
 * caches of its own: its manifest need not be that of a commit.
 */
export async function* scannedRows(
  { library, endpoint, until }: ScanParts,
  { table: place, columns }: Extract<LibraryTask, { readonly kind: 'scan' }>,
): AsyncGenerator<Uint8Array> {
  const name = endpoint.add(place);
  try {
    const { url: uri, headers } = endpoint;
    const session = new library.Session(CACHE_BYTES, CACHE_BYTES);
    const connection = await until(library.connectNamespace('rest', { uri, headers }, { session }));
    const table = await until(openAt(connection, name, place.branch, place.at.version));
    const query = table.query().select([...columns]);
    const { inner } = query as unknown as { readonly inner: LibraryQuery | Promise<LibraryQuery> };
    const batches = await until((await inner).execute());
    yield* sizedFiles(() => until(batches.next()));
  } finally {
    endpoint.remove(name);
  }
}
