import type { Data } from 'apache-arrow';
import { cachedColumns, type ColumnsFound } from '../table/cached-columns.ts';
import type { ColumnCache } from '../table/column-cache.ts';
import type { OpenFiles } from '../table/open-files.ts';

/** Some columns of a batch of an index's file, kept in the cache. @param places Which, by their positions. */
export function indexColumns(
  files: OpenFiles,
  cache: ColumnCache,
  path: string,
  index: number,
  places: readonly number[],
): readonly Data[] | Promise<readonly Data[]> {
  const batch = { index, range: undefined, places };
  const inOrder = (found: ColumnsFound) => places.map((place) => found.get(place)!);
  const found = files.use(path, (file) =>
    cachedColumns(cache, file, batch, (length) => new Uint8Array(length)),
  );
  return found instanceof Promise ? found.then(inOrder) : inOrder(found);
}
