import type { HandlerTable } from '../handler.ts';
import { branchHandlers } from './branches.ts';
import { deleteVersions } from './delete-versions.ts';
import { describeVersion } from './describe-version.ts';
import { restoreTable } from './restore-table.ts';
import { tagHandlers, type TagParts } from './tags.ts';

/** The operations on a table's versions, their tags and branches. */
export function historyHandlers(parts: TagParts): HandlerTable {
  const { catalog, tables } = parts;
  return {
    ...tagHandlers(parts),
    ...branchHandlers(parts),
    RestoreTable: restoreTable(catalog, tables),
    DescribeTableVersion: describeVersion(catalog, tables),
    BatchDeleteTableVersions: deleteVersions(parts),
  };
}
