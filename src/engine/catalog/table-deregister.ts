import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Write, Check } from '../../store/store.ts';
import { commitLoop } from './records/commit-loop.ts';
import { deregisteredKey, tableKey } from './records/keys.ts';
import type { JudgeTable, Seal } from './records/seal.ts';
import { unchanged, type CatalogParts } from './records/reader.ts';
import { encodeDropped } from './records/records-codec.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import { tableNotFound, tableAlreadyExists } from './records/refusals.ts';
import { tablePlace } from './table-place.ts';

/** Further writes when a table leaves the catalog. */
export type RemovalWrites = (table: TableRecord) => readonly Write[];

/**
 * Removes a table from the catalog in one commit.
 * @param writesOf All writes of the removal.
 * @throws CatalogError TableNotFound.
 */
export async function commitRemoval(
  parts: CatalogParts,
  path: ObjectPath,
  writesOf: (table: Stored<TableRecord>) => readonly Write[],
  seal?: Seal<TableRecord>,
  judge?: JudgeTable,
): Promise<TableRecord> {
  let last: TableRecord | undefined;
  return commitLoop({ committer: parts.committer, seal }, async (uncertain) => {
    const table = await parts.reader.table(path);
    if (uncertain && last !== undefined && table?.content.id !== last.id) {
      return { kind: 'done', result: last };
    }
    if (table === undefined) throw tableNotFound(path);
    last = table.content;
    await judge?.(last);
    return { kind: 'commit', checks: [unchanged(table)], writes: writesOf(table), result: last };
  });
}

/**
 * Writes that take a table out of the catalog and leave its files where they are, for good: it does
 * not count as dropped.
 */
export function deregistration(path: ObjectPath, table: Stored<TableRecord>): readonly Write[] {
  const { content: record } = table;
  const dropped = encodeDropped({ path, record, droppedMillis: Date.now() });
  return [
    { key: table.key, value: null },
    { key: deregisteredKey(record.id), value: dropped },
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
export async function commitRename(
  parts: CatalogParts,
  from: ObjectPath,
  to: ObjectPath,
  seal?: Seal<TableRecord>,
  judge?: JudgeRename,
): Promise<TableRecord> {
  let last: TableRecord | undefined;
  return commitLoop({ committer: parts.committer, seal }, async (uncertain) => {
    const table = await parts.reader.table(from);
    if (table === undefined && !uncertain) throw tableNotFound(from);
    const place = await tablePlace(parts, to);
    if (uncertain && last !== undefined && place.existing?.content.id === last.id) {
      return { kind: 'done', result: last };
    }
    if (table === undefined) throw tableNotFound(from);
    if (place.existing !== undefined) throw tableAlreadyExists(to);
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
