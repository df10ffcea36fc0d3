import type { Answer } from '../../../protocol/backend.ts';
import { emptyAnswer } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Call, Handler } from '../call/handler.ts';
import { branchParameter } from '../call/parameters.ts';
import { columnPath } from '../../request/column-path.ts';
import { needOf } from '../../request/computed-columns.ts';
import { Pace } from '../../base/pace.ts';
import { allFiles } from '../../query/plan/plan.ts';
import { stretch } from '../../query/scan/rows.ts';
import { Scanner } from '../../query/scan/scan.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import { batchBytes } from '../../format/small-batches.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import { requireEngineTable } from '../call/table-parts.ts';
import type { TableView } from '../call/read-place.ts';

export interface WarmingParts {
  readonly catalog: Catalog;
  readonly tables: TableView;
  readonly reader: FragmentReader;
  /** Size of the cache, in bytes. */
  readonly cacheBytes: number;
}

/** PrewarmPageCache: reads columns, all unless some are named, so that queries find them in memory. */
export function warmColumns(parts: WarmingParts): Handler {
  return async (call): Promise<Answer> => {
    const { object } = call.request;
    const { content } = await parts.catalog.requireTable(object);
    requireEngineTable(object, content);
    const chain = await parts.tables.chain(content, branchParameter(call));
    const snapshot = await parts.tables.snapshot(content, undefined, chain);
    const columns = columnsOf(call, snapshot);
    await warm(parts, snapshot, columns);
    return emptyAnswer(call);
  };
}

/** @throws CatalogError TableColumnNotFound. */
function columnsOf({ body }: Call, { schema }: Snapshot): readonly string[] {
  const named = body['columns'];
  const names = Array.isArray(named) ? named.map(String) : schema.fields.map(({ name }) => name);
  return [...new Set(names.map((name) => columnPath(name, schema.fields).column))];
}

/** Reads column by column while there is memory. Columns that are read twice are cached. */
async function warm(
  { reader, cacheBytes }: WarmingParts,
  snapshot: Snapshot,
  columns: readonly string[],
): Promise<void> {
  const pace = new Pace();
  let left = cacheBytes;
  for (const column of columns) {
    const need = needOf(snapshot.schema, [column]);
    const scanner = new Scanner(reader, snapshot);
    for await (const { place, batch, release } of scanner.scan(allFiles(snapshot), need)) {
      left -= batchBytes(batch);
      release?.();
      if (left < 0) return;
      await scanner.read(place, need, stretch(0, place.rows));
      await pace.turn();
    }
  }
}
