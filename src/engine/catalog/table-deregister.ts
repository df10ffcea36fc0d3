import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Write } from '../../store/store.ts';
import { commitLoop } from './commit-loop.ts';
import { deregisteredKey } from './keys.ts';
import type { JudgeTable } from './judge-table.ts';
import type { CatalogParts } from './parts.ts';
import { unchanged } from './reader.ts';
import { encodeDropped } from './records-codec.ts';
import type { Stored, TableRecord } from './records.ts';
import { tableNotFound } from './refusals.ts';
import type { Seal } from './seal.ts';

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
