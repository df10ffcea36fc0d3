import { send, type Reply } from '../service/http.ts';
import { groupBody, rowChanges, rowsIn, rowsKind, type RowChanges } from './engine-kind.ts';

/** Of a Lance table, double quotes enclose a text. */
const predicateOf = (group: number): string => `\`group\` = ${group}`;

const plain = rowChanges(predicateOf);

const merged: RowChanges = {
  append: (url, table, group, headers) =>
    merge(url, table, 'when_not_matched_insert_all', groupBody(group, rowsIn(group)), headers),
  async mark(url, table, group, headers) {
    const marks = await marksIn(url, table, group);
    if (typeof marks !== 'number') return marks;
    const body = groupBody(group, rowsIn(group), marks + 1);
    return merge(url, table, 'when_matched_update_all', body, headers);
  },
  remove: plain.remove,
};

function merge(
  url: string,
  table: string,
  what: string,
  body: Uint8Array,
  headers: Parameters<RowChanges['append']>[3],
): Promise<Reply> {
  const line = `POST /v1/table/${table}/merge_insert?on=group&on=place&${what}=true`;
  return send(url, line, { body, headers });
}

/** How often a group of a writer is marked, or the answer that does not say. */
async function marksIn(url: string, table: string, group: number): Promise<number | Reply> {
  for (let marks = 0; ; marks++) {
    const predicate = `${predicateOf(group)} AND mark > ${marks}`;
    const reply = await send(url, `POST /v1/table/${table}/count_rows`, { body: { predicate } });
    if (reply.status !== 200) return reply;
    if (reply.text === '0') return marks;
  }
}

/** Requests of either kind for each group. */
function either(kind: keyof RowChanges): RowChanges[keyof RowChanges] {
  return (url, table, group, headers) =>
    (group % 2 === 0 ? plain : merged)[kind](url, table, group, headers);
}

/** A Lance table whose rows the service changes by the library: inserts, updates, deletions, merges. */
export const libraryRowsKind = rowsKind('rows of a Lance table', {
  append: either('append'),
  mark: either('mark'),
  remove: either('remove'),
});
