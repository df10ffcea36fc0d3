import { Int64, tableToIPC, Table, Utf8, vectorFromArray } from 'apache-arrow';
import { ARROW_STREAM, sendGranted } from '../service/http.ts';

/** Makes `/prod/people` with three versions: two rows, four rows, and a column more; an index, a tag and a branch. */
export async function makeTable(url: string): Promise<void> {
  const rows = new Table({
    id: vectorFromArray([1n, 2n], new Int64()),
    name: vectorFromArray(['a', 'b'], new Utf8()),
  });
  const body = tableToIPC(rows, 'stream');
  await sendGranted(url, 'POST /v1/namespace/prod/create', { body: {} });
  const table = 'POST /v1/table/prod$people';
  await sendGranted(url, `${table}/create`, { body, headers: ARROW_STREAM });
  await sendGranted(url, `${table}/insert`, { body, headers: ARROW_STREAM });
  const added = { new_columns: [{ name: 'twice', expression: 'id * 2' }] };
  await sendGranted(url, `${table}/add_columns`, { body: added });
  await sendGranted(url, `${table}/tags/create`, { body: { tag: 'gold', version: 2 } });
  await sendGranted(url, `${table}/branches/create`, { body: { name: 'dev' } });
}
