import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Write, Check } from '../../store/store.ts';
import { commitLoop } from './records/commit-loop.ts';
import { deregisteredKey, tableKey } from './records/keys.ts';
import type { JudgeTable, Seal } from './records/seal.ts';
import { unchanged, type CatalogParts } from './records/reader.ts';
import { encodeDropped } from './records/records-codec.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import { tableNotFound, tableExists } from './records/refusals.ts';
import { tablePlace } from './table-place.ts';

/** What else is written when a table leaves the catalog. */
export type Farewell = (table: TableRecord) => readonly Write[];

/**
 * Takes a table out of the catalog and leaves all its files where they are, for
 * good: it does not count as dropped.
 * @throws CatalogError TableNotFound.
 */
export async function deregisterTable(
  parts: CatalogParts,
  path: ObjectPath,
  farewell: Farewell,
  seal?: Seal<TableRecord>,
  judge?: JudgeTable,
): Promise<TableRecord> {
  let last: TableRecord | undefined;
  return commitLoop({ committer: parts.committer, seal }, async (doubt) => {
    const table = await parts.reader.table(path);
    if (doubt && last !== undefined && table?.content.id !== last.id) {
      return { kind: 'done', result: last };
    }
    if (table === undefined) throw tableNotFound(path);
    last = table.content;
    await judge?.(last);
    const writes = [...deregistration(path, table), ...farewell(last)];
    return { kind: 'commit', checks: [unchanged(table)], writes, result: last };
  });
}

/** What is written when a table leaves the catalog. */
export function deregistration(path: ObjectPath, table: Stored<TableRecord>): readonly Write[] {
  const { content: record } = table;
  const gone = encodeDropped({ path, record, droppedMillis: Date.now() });
  return [
    { key: table.key, value: null },
    { key: deregisteredKey(record.id), value: gone },
  ];
}

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
