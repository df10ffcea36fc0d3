import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Call, Handler, HandlerTable } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import type { TableView } from './table-view.ts';

const noParts =
  'this service takes the rows of a write in one stream: there are no writes of several parts, send them with insert';
const noBlobs =
  'this service keeps no values apart from their rows: ask for the column with a query';
const noLog =
  'this service keeps no log of merges beside its tables: a merge is part of the table, on stable storage, once it is answered';
const noComparison =
  'this service does not compare branches: query both, or insert into main what a query of the branch answers';

function refuse(message: string): Handler {
  return () => Promise.reject(new CatalogError('Unsupported', message));
}

export interface AbsentParts {
  readonly catalog: Catalog;
  readonly tables: TableView;
}

/** Routes of newer clients for what this service has not: each says what it is, or answers that there is none. */
export function absentHandlers(parts: AbsentParts): HandlerTable {
  return {
    CreateMultipartWrite: refuse(noParts),
    CompleteMultipartWrite: refuse(noParts),
    AbortMultipartWrite: refuse(noParts),
    FetchBlobs: refuse(noBlobs),
    ReadBlob: refuse(noBlobs),
    FlushLsm: refuse(noLog),
    CompactLsm: refuse(noLog),
    SetLsmWriteSpec: refuse(noLog),
    UnsetLsmWriteSpec: refuse(noLog),
    DiffTableBranch: refuse(noComparison),
    CherryPickTableBranch: refuse(noComparison),
    GetLsmStats: (call) => none(parts, call, 'lsm_stats'),
    GetLsmWriteSpec: (call) => none(parts, call, 'lsm_write_spec'),
  };
}

async function none({ catalog, tables }: AbsentParts, call: Call, name: string): Promise<Answer> {
  const { content } = await catalog.requireTable(call.request.object);
  await tables.chain(content, branchParameter(call));
  return jsonAnswer(call, { [name]: null });
}
