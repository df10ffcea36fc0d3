import type { Answer } from '../../protocol/backend.ts';
import { emptyAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Call, Handler } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import { columnPath } from '../query/column-path.ts';
import { needOf } from '../query/computed-columns.ts';
import { Pace } from '../query/pace.ts';
import { allFiles } from '../query/plan.ts';
import { stretch } from '../query/rows.ts';
import { Scanner } from '../query/scan.ts';
import type { FragmentReader } from '../table/fragment-reader.ts';
import { batchBytes } from '../table/small-batches.ts';
import type { Snapshot } from '../table/snapshot.ts';
import { requireEngineTable } from './table-parts.ts';
import type { TableView } from './table-view.ts';

export interface WarmingParts {
  readonly catalog: Catalog;
  readonly tables: TableView;
  readonly reader: FragmentReader;
  /** Memory for what is read often, in bytes. */
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

/** Column by column, for as long as there is memory for them. What is read twice is kept. */
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
