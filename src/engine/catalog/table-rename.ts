import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Check } from '../../store/store.ts';
import { commitLoop } from './commit-loop.ts';
import { tableKey } from './keys.ts';
import type { CatalogParts } from './parts.ts';
import { unchanged } from './reader.ts';
import type { TableRecord } from './records.ts';
import { tableExists, tableNotFound } from './refusals.ts';
import type { Seal } from './seal.ts';
import { tablePlace } from './table-place.ts';

/** Judges a rename before it is committed; gives what has to stay as it was judged. @throws CatalogError */
export type JudgeRename = (record: TableRecord) => Promise<readonly Check[]>;

/**
 * Gives a table another name, in whatever namespace. Its data lies under its
 * id, so nothing else moves.
 * @throws CatalogError TableNotFound for the table, TableAlreadyExists for the
 * new name, and those of `tablePlace`.
 */
export async function renameTable(
  parts: CatalogParts,
  from: ObjectPath,
  to: ObjectPath,
  seal?: Seal<TableRecord>,
  judge?: JudgeRename,
): Promise<TableRecord> {
  let last: TableRecord | undefined;
  return commitLoop({ committer: parts.committer, seal }, async (doubt) => {
    const table = await parts.reader.table(from);
    if (table === undefined && !doubt) throw tableNotFound(from);
    const place = await tablePlace(parts, to);
    if (doubt && last !== undefined && place.existing?.content.id === last.id) {
      return { kind: 'done', result: last };
    }
    if (table === undefined) throw tableNotFound(from);
    if (place.existing !== undefined) throw tableExists(to);
    last = table.content;
    const judged = (await judge?.(last)) ?? [];
    return {
      kind: 'commit',
      checks: [unchanged(table), ...place.checks, ...judged],
      writes: [
        { key: table.key, value: null },
        { key: tableKey(to), value: table.value },
      ],
      result: last,
    };
  });
}
