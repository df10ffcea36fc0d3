import { stringifyJson } from '../../protocol/json.ts';
import type { Handler } from '../handler.ts';
import { attended } from '../query/attended.ts';
import { versionHeaders } from '../query/answer.ts';
import { countRows } from '../query/count.ts';
import { countField, textField } from '../query/fields.ts';
import { readTable, type TableReads } from './table-reads.ts';

/** CountTableRows: the number by itself, whatever its size. */
export function countTableRows(reads: TableReads): Handler {
  return async (call) => {
    const predicate = textField(call.body, 'predicate');
    const snapshot = await readTable(reads, call, countField(call.body, 'version'));
    const source = attended(reads.reader, call.request.signal);
    const count = await countRows(source, snapshot, predicate);
    return {
      status: 200,
      contentType: 'application/json',
      headers: versionHeaders(snapshot.version),
      body: stringifyJson(count),
    };
  };
}
