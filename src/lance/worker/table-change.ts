import type * as LanceDb from '@lancedb/lancedb';
import type {
  LanceTableChange,
  LanceIndexSpec,
  LanceIndexType,
} from '../../engine/versions/managed/lance-library.ts';
import type { TableAtVersion, TablePlace } from '../wire/messages.ts';
import type { AnswerVersions } from './catalog-endpoint.ts';
import type { ChangeTables } from './change-tables.ts';
import type { Await } from './tasks.ts';

/** A connection of the library below its classes for rows, which would decode them. */
interface NativeConnection {
  createTable(name: string, file: Uint8Array, mode: string, namespace: string[]): Promise<object>;
}

/** A table of the library, likewise. */
interface NativeTable {
  add(file: Uint8Array, mode: string): Promise<object>;
  addColumnsWithSchema(file: Uint8Array): Promise<object>;
  alterColumns(alterations: readonly object[]): Promise<object>;
  mergeInsert(on: readonly string[]): NativeMerge;
}

interface NativeMerge {
  whenMatchedUpdateAll(condition: string | null): NativeMerge;
  whenNotMatchedInsertAll(): NativeMerge;
  whenNotMatchedBySourceDelete(filter: string | null): NativeMerge;
  useIndex(useIndex: boolean): NativeMerge;
  execute(file: Uint8Array): Promise<object>;
}

/** What a change works with. */
export interface ChangeParts {
  readonly library: typeof LanceDb;
  readonly tables: ChangeTables;
  readonly place: TablePlace;
  /** The newest version, for a change that begins with it. */
  readonly newest: TableAtVersion | null;
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

async function created({ tables, place, rows }: ChangeParts, { answer }: Commits): Promise<object> {
  const connected = await tables.connect(place, answer);
  try {
    const { connection, name } = connected;
    const native = (connection as unknown as { readonly inner: NativeConnection }).inner;
    await native.createTable(name, rows, 'create', []);
    return {};
  } finally {
    tables.close(connected);
  }
}

async function changedBy(
  { library, tables, place, newest, rows }: ChangeParts,
  commits: Commits,
  change: Alteration,
): Promise<object> {
  const { answer } = commits;
  const lent = await (newest === null ? tables.open(place, answer) : tables.lend(newest, answer));
  commits.onMade = () => lent.returnSoon();
  let isDone = false;
  try {
    const counts = await changed({ library, table: lent.table, rows }, change);
    isDone = true;
    return counts;
  } finally {
    lent.giveBack(isDone ? commits.made : undefined);
  }
}

/** A change of a table that is there. */
type Alteration = Exclude<LanceTableChange, { readonly kind: 'create' }>;

async function changed(opened: Omit<Opened, 'native'>, change: Alteration): Promise<object> {
  const { inner: native } = opened.table as unknown as { readonly inner: NativeTable };
  return (await changers[change.kind]({ ...opened, native }, change as never)) ?? {};
}

interface Opened extends Pick<ChangeParts, 'library' | 'rows'> {
  readonly table: LanceDb.Table;
  readonly native: NativeTable;
}

const changers: {
  readonly [Kind in Alteration['kind']]: (
    opened: Opened,
    change: Extract<Alteration, { readonly kind: Kind }>,
  ) => Promise<object | void>;
} = {
  append: ({ native, rows }) => native.add(rows, 'append'),
  overwrite: ({ native, rows }) => native.add(rows, 'overwrite'),
  delete: ({ table }, { predicate }) => table.delete(predicate),
  update: ({ table }, { predicate, updates }) =>
    table.update({
      valuesSql: new Map(updates),
      ...(predicate !== null && { where: predicate }),
    }),
  merge: ({ native, rows }, change) => {
    let merge = native.mergeInsert(change.on).useIndex(change.useIndex);
    if (change.update) merge = merge.whenMatchedUpdateAll(change.updateIf);
    if (change.insert) merge = merge.whenNotMatchedInsertAll();
    if (change.remove) merge = merge.whenNotMatchedBySourceDelete(change.removeIf);
    return merge.execute(rows);
  },
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
