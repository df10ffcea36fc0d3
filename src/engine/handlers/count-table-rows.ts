import { stringifyJson } from '../../protocol/json.ts';
import type { Handler } from '../handler.ts';
import { attended } from '../query/attended.ts';
import { versionHeaders } from '../query/answer.ts';
import { countRows, predicateOf } from '../query/count.ts';
import { textField } from '../query/fields.ts';
import type { Snapshot } from '../table/snapshot.ts';
import { restOn } from './basis.ts';
import { findTable, type TableReads } from './table-reads.ts';

/** CountTableRows: the number by itself, whatever its size. */
export function countTableRows(reads: TableReads): Handler {
  return async (call) => {
    const predicate = textField(call.body, 'predicate');
    const { snapshot, table, chain, record } = await findTable(reads, call);
    // What a predicate says may depend on the time.
    if (predicate === null) restOn(call, table, chain, record);
    const count = await counted(reads, snapshot, predicate, call.request.signal);
    return {
      status: 200,
      contentType: 'application/json',
      headers: versionHeaders(snapshot.version),
      body: stringifyJson(count),
    };
  };
}

async function counted(
  { reader, heavy }: TableReads,
  snapshot: Snapshot,
  predicate: string | null,
  whenGone: () => AbortSignal,
): Promise<bigint> {
  // Nothing is read, and a signal is dear to make.
  if (predicate === null) return countRows(reader, snapshot, predicate);
  const signal = whenGone();
  const source = attended(reader, signal);
  if (heavy === undefined) return countRows(source, snapshot, predicate);
  return heavy.isHeavyCount(snapshot, predicateOf(snapshot, predicate))
    ? heavy.count(predicate, snapshot, signal)
    : countRows(source, snapshot, predicate);
}
