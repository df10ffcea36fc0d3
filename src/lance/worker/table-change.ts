import type * as LanceDb from '@lancedb/lancedb';
import type {
  LanceTableChange,
  LanceIndexSpec,
  LanceIndexType,
} from '../../engine/versions/managed/lance-library.ts';
import type { TableAtVersion, TablePlace } from '../wire/messages.ts';
import type { AnswerVersions } from './catalog-endpoint.ts';
import type { ChangeTables } from './change-tables.ts';
import { nativeConnection, nativeTable, type NativeTable } from './native-table.ts';
import type { Await } from './tasks.ts';

/** What a change works with. */
export interface ChangeParts {
  readonly library: typeof LanceDb;
  readonly tables: ChangeTables;
  readonly place: TablePlace;
  /** The newest version, for a change of rows that begins with it. */
  readonly newest: TableAtVersion | null;
  /** Whether a new table stays open for its first change. */
  readonly isKept: boolean;
  /** The rows of the change, or its columns, as an Arrow file; empty if it has none. */
  readonly rows: Uint8Array;
  /** Asks the catalog of the gateway. */
  readonly ask: AnswerVersions;
  readonly until: Await;
}

/** Older than every version; one whose manifest says no time counts as one of 1970. */
const BEFORE_ALL = new Date(Date.UTC(1900, 0));

/** Changes a table. @returns The counts of the library. @throws as the library does */
export function changedTable(parts: ChangeParts, change: LanceTableChange): Promise<object> {
  const commits = new Commits(parts.ask);
  // It goes on if the task is cancelled: the library may ask for its commit after that, and must get an answer.
  const work =
    change.kind === 'create' ? created(parts, commits) : changedBy(parts, commits, change);
  return parts.until(work);
}

/** The commits of a change, as the library asks for them. */
class Commits {
  readonly answer: AnswerVersions;
  /** Called with each commit. */
  onMade: () => void = () => undefined;
  #made: number | undefined;
  #isSpoilt = false;

  constructor(ask: AnswerVersions) {
    this.answer = async (question) => {
      const reply = await ask(question);
      if (question.action !== 'version/create') return reply;
      const { version, manifest_path } = question.body;
      if (reply.status >= 400) this.#isSpoilt = true;
      else {
        this.#made = Number(version);
        this.onMade();
      }
      if (reply.status < 400 || reply.status === 409) return reply;
      // The library takes every failure of a commit for a conflict and repeats it for minutes. So a commit that
      // the catalog refused looks to it as if it had succeeded; the gateway knows better.
      return { status: 200, value: { version: { version, manifest_path, timestamp_millis: 0 } } };
    };
  }

  /** The version that was committed; undefined if there is none, or another was refused or came second. */
  get made(): number | undefined {
    return this.#isSpoilt ? undefined : this.#made;
  }
}

async function created(
  { tables, place, isKept, rows }: ChangeParts,
  commits: Commits,
): Promise<object> {
  const begun = await tables.begin(place, commits.answer);
  let table: NativeTable | undefined;
  try {
    table = await nativeConnection(begun.connection).createTable(begun.name, rows, 'create', []);
    return {};
  } finally {
    begun.end(table, isKept ? commits.made : undefined);
  }
}

/** A change of a table that is there. */
type Alteration = Exclude<LanceTableChange, { readonly kind: 'create' }>;

function changedBy(parts: ChangeParts, commits: Commits, change: Alteration): Promise<object> {
  const { newest } = parts;
  return newest !== null && isOfRows(change)
    ? changedRows(parts, commits, newest, change)
    : changedAlone(parts, commits, change);
}

/** Changes rows of a table that may stay open. */
async function changedRows(
  { tables, rows }: ChangeParts,
  commits: Commits,
  newest: TableAtVersion,
  change: RowChange,
): Promise<object> {
  const lent = await tables.lend(newest, commits.answer);
  commits.onMade = () => lent.returnSoon();
  let isDone = false;
  try {
    const counts = await rowsChanged({ native: lent.table, rows }, change);
    isDone = true;
    return counts;
  } finally {
    lent.giveBack(isDone ? commits.made : undefined);
  }
}

async function changedAlone(
  { library, tables, place, rows }: ChangeParts,
  { answer }: Commits,
  change: Alteration,
): Promise<object> {
  const own = await tables.open(place, answer);
  const { table } = own;
  const native = nativeTable(table);
  try {
    if (isOfRows(change)) return await rowsChanged({ native, rows }, change);
    const made = await changers[change.kind]({ library, table, native, rows }, change as never);
    return made ?? {};
  } finally {
    own.close();
  }
}

interface OpenedRows extends Pick<ChangeParts, 'rows'> {
  readonly native: NativeTable;
}

type RowChange = Extract<Alteration, { readonly kind: keyof typeof rowChangers }>;

function isOfRows(change: Alteration): change is RowChange {
  return change.kind in rowChangers;
}

function rowsChanged(opened: OpenedRows, change: RowChange): Promise<object> {
  return rowChangers[change.kind](opened, change as never);
}

type Changer<Kind extends Alteration['kind'], Parts, Result> = (
  opened: Parts,
  change: Extract<Alteration, { readonly kind: Kind }>,
) => Promise<Result>;

const rowChangers: {
  readonly [Kind in 'append' | 'overwrite' | 'delete' | 'update' | 'merge']: Changer<
    Kind,
    OpenedRows,
    object
  >;
} = {
  append: ({ native, rows }) => native.add(rows, 'append'),
  overwrite: ({ native, rows }) => native.add(rows, 'overwrite'),
  delete: ({ native }, { predicate }) => native.delete(predicate),
  update: ({ native }, { predicate, updates }) => native.update(predicate, [...new Map(updates)]),
  merge: ({ native, rows }, change) => {
    let merge = native.mergeInsert(change.on).useIndex(change.useIndex);
    if (change.update) merge = merge.whenMatchedUpdateAll(change.updateIf);
    if (change.insert) merge = merge.whenNotMatchedInsertAll();
    if (change.remove) merge = merge.whenNotMatchedBySourceDelete(change.removeIf);
    return merge.execute(rows);
  },
};

interface Opened extends OpenedRows, Pick<ChangeParts, 'library'> {
  readonly table: LanceDb.Table;
}

const changers: {
  readonly [Kind in Exclude<Alteration['kind'], RowChange['kind']>]: Changer<
    Kind,
    Opened,
    object | void
  >;
} = {
  add_columns: ({ table, native, rows }, { expressions }) =>
    expressions.length === 0
      ? native.addColumnsWithSchema(rows)
      : table.addColumns(expressions.map(([name, valueSql]) => ({ name, valueSql }))),
  alter_columns: ({ native }, { alterations }) =>
    native.alterColumns(
      alterations.map(({ path, rename, nullable, type }) => ({
        path,
        ...(rename !== null && { rename }),
        ...(nullable !== null && { nullable }),
        ...(type !== null && { dataType: type }),
      })),
    ),
  drop_columns: ({ table }, { columns }) => table.dropColumns([...columns]),
  update_field_metadata: ({ table }, { updates }) => table.updateFieldMetadata([...updates]),
  restore: async ({ table }, { version }) => {
    await table.checkout(version);
    await table.restore();
  },
  // Versions are removed by the catalog alone.
  compact: async ({ table }) => {
    const { compaction } = await table.optimize({ cleanupOlderThan: BEFORE_ALL });
    return { merged: compaction.fragmentsRemoved, made: compaction.fragmentsAdded };
  },
  create_index: ({ library, table }, { column, name, replace, index }) => {
    const config = indexOf(library, index);
    return table.createIndex(column, { config, name, replace });
  },
  drop_index: ({ table }, { name }) => table.dropIndex(name),
  create_branch: async ({ table }, { name, version }) => {
    const from = table.currentBranch() ?? undefined;
    await (await table.branches()).create(name, from, version);
  },
};

function indexOf({ Index }: typeof LanceDb, { type, options }: LanceIndexSpec): LanceDb.Index {
  return indexMakers[type](Index, options);
}

const indexMakers: Readonly<
  Record<LanceIndexType, (index: typeof LanceDb.Index, options: object) => LanceDb.Index>
> = {
  BTREE: (index) => index.btree(),
  BITMAP: (index) => index.bitmap(),
  LABEL_LIST: (index) => index.labelList(),
  FM: (index) => index.fm(),
  FTS: (index, options) => index.fts(options),
  IVF_FLAT: (index, options) => index.ivfFlat(options),
  IVF_PQ: (index, options) => index.ivfPq(options),
  IVF_RQ: (index, options) => index.ivfRq(options),
  IVF_HNSW_PQ: (index, options) => index.hnswPq(options),
  IVF_HNSW_SQ: (index, options) => index.hnswSq(options),
};
