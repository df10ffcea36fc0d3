import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Permit } from '../../protocol/permit.ts';
import type { Check, Store, Write } from '../../store/store.ts';
import { childrenByChunks, type Child } from './records/children.ts';
import type { Committer } from './records/commit-loop.ts';
import type { JudgeTable, Seal } from './records/seal.ts';
import { namespacesOf, tablesOf } from './records/keys.ts';
import { createNamespace, type CreateMode } from './namespace-create.ts';
import {
  dropNamespace,
  tableRemoval,
  type DroppedNamespace,
  type DropOptions,
} from './namespace-drop.ts';
import { visiblePage, type Entry, type Page, type PageRequest } from './records/page.ts';
import { RecordReader, type CatalogParts } from './records/reader.ts';
import { decodeTable } from './records/records-codec.ts';
import type { NamespaceRecord, Stored, TableRecord } from '../format/records.ts';
import {
  checkDroppable,
  namespaceExists,
  namespaceNotFound,
  tableNotFound,
} from './records/refusals.ts';
import {
  commitRemoval,
  deregistration,
  commitRename,
  type RemovalWrites,
  type JudgeRename,
} from './table-deregister.ts';
import { LocalTables } from './local-tables.ts';
import { commitTable, tablePlace } from './table-place.ts';
import { walkTables } from './records/table-walk.ts';
import { compareBytewise } from './records/bytewise.ts';

/**
 * Names of virtual tables. Only listings of their own namespace include them: clients that copy or count
 * the contents of a catalog would take them for user tables.
 */
class VirtualNames {
  readonly #tables: readonly ObjectPath[];

  constructor(tables: readonly ObjectPath[]) {
    this.#tables = tables;
  }

  /** Whether there is such a namespace. */
  hasNamespace(path: ObjectPath): boolean {
    return path.length > 0 && this.#tables.some((table) => liesIn(table, path));
  }

  /** The tables directly inside a namespace. */
  tables(parent: ObjectPath): readonly Entry[] {
    return this.#tables
      .filter((table) => liesIn(table, parent) && table.length === parent.length + 1)
      .map((path) => ({ name: path.at(-1)!, path }));
  }
}

/** Entries in the order of their names, some at a time, with others that lie beyond a text put where they belong. */
async function* withEntries(
  chunks: AsyncIterable<readonly Entry[]>,
  others: readonly Entry[],
  after: string,
): AsyncGenerator<readonly Entry[]> {
  const waiting = others
    .filter(({ name }) => compareBytewise(name, after) > 0)
    .sort((one, other) => compareBytewise(one.name, other.name));
  for await (const chunk of chunks) {
    if (waiting.length === 0) yield chunk;
    else yield chunk.flatMap((entry) => [...before(waiting, entry.name), entry]);
  }
  yield waiting;
}

/** Takes those away that lie before a name. */
function before(waiting: Entry[], name: string): readonly Entry[] {
  const next = waiting.findIndex((one) => compareBytewise(one.name, name) >= 0);
  return waiting.splice(0, next < 0 ? waiting.length : next);
}

function liesIn(table: ObjectPath, namespace: ObjectPath): boolean {
  return table.length > namespace.length && namespace.every((name, at) => table[at] === name);
}

/** The root, and namespaces of the service itself: they always exist, and nothing is stored of them. */
const ROOT: NamespaceRecord = { id: '', properties: {}, createdMillis: 0 };

/** Minimum number of children that are read at once. */
const SMALLEST_CHUNK = 100;

/** Which tables a listing shows beside those that hold data. */
interface TableFilter {
  /** Tables that were declared and never written. */
  readonly declared: boolean;
}

/** The names of the catalog: namespaces, and the tables in them. */
export class Catalog {
  readonly #parts: CatalogParts;
  readonly #virtual: VirtualNames;

  /** Tables whose files one gateway alone has. */
  readonly local: LocalTables;

  /** @param virtual Tables that the service answers for itself; here they only have their names. */
  constructor(
    store: Store,
    committer: Committer,
    virtual: readonly ObjectPath[] = [],
    local: LocalTables = new LocalTables(),
  ) {
    this.local = local;
    this.#parts = { store, reader: new RecordReader(store), committer };
    this.#virtual = new VirtualNames(virtual);
  }

  /** The record of a namespace as the store has it: there is none of the root and of the service's own. */
  async storedNamespace(path: ObjectPath): Promise<Stored<NamespaceRecord> | undefined> {
    return this.#virtual.hasNamespace(path) ? undefined : this.#parts.reader.namespace(path);
  }

  /** A namespace's record; the root has one that is always the same. */
  async namespace(path: ObjectPath): Promise<NamespaceRecord | undefined> {
    if (path.length === 0 || this.#virtual.hasNamespace(path)) return ROOT;
    return (await this.#parts.reader.namespace(path))?.content;
  }

  /** @throws CatalogError NamespaceNotFound. */
  async requireNamespace(path: ObjectPath): Promise<NamespaceRecord> {
    const record = await this.namespace(path);
    if (record === undefined) throw namespaceNotFound(path);
    return record;
  }

  /** @throws CatalogError ServiceUnavailable if another gateway alone has the files. */
  async table(path: ObjectPath): Promise<Stored<TableRecord> | undefined> {
    const found = await this.#parts.reader.table(path);
    if (found !== undefined) this.local.requireHere(found.content);
    return found;
  }

  /** @throws CatalogError TableNotFound, and as `table`. */
  async requireTable(path: ObjectPath): Promise<Stored<TableRecord>> {
    const record = await this.table(path);
    if (record === undefined) throw tableNotFound(path);
    return record;
  }

  /**
   * Makes a namespace; overwriting replaces one that is empty.
   * @throws CatalogError NamespaceAlreadyExists, NamespaceNotEmpty,
   * NamespaceNotFound for the parent, TableAlreadyExists when a table has the
   * name, InvalidInput for a name that nothing may have.
   */
  async createNamespace(
    path: ObjectPath,
    mode: CreateMode,
    properties: Readonly<Record<string, string>>,
    seal?: Seal<NamespaceRecord>,
  ): Promise<NamespaceRecord> {
    if (path.length > 0) return createNamespace(this.#parts, path, mode, properties, seal);
    if (mode === 'create') throw namespaceExists(path);
    if (mode === 'overwrite') throw rootStays();
    return ROOT;
  }

  /**
   * Drops a namespace, all of it or nothing. Cascading asks the permit for
   * everything below. Answers nothing when it is missing and may be.
   * @throws CatalogError NamespaceNotFound, NamespaceNotEmpty, PermissionDenied, InvalidInput for the root.
   */
  async dropNamespace(
    path: ObjectPath,
    options: DropOptions,
    permit: Permit,
    seal?: Seal<DroppedNamespace | undefined>,
  ): Promise<DroppedNamespace | undefined> {
    if (path.length === 0) throw rootStays();
    checkDroppable(path);
    return dropNamespace(this.#parts, path, options, permit, seal);
  }

  /**
   * The table at a path where a table may be made, if there is one.
   * @throws CatalogError NamespaceNotFound for the parent, NamespaceAlreadyExists
   * when a namespace has the name, InvalidInput for a name that nothing may have.
   */
  async tablePlace(path: ObjectPath): Promise<Stored<TableRecord> | undefined> {
    const { existing } = await tablePlace(this.#parts, path);
    if (existing !== undefined) this.local.requireHere(existing.content);
    return existing;
  }

  /**
   * Makes a table exist in one commit with further writes, if further checks
   * hold. Without `replace` there must be no table; with it, exactly that one,
   * which counts as dropped when its id is another.
   * @throws CatalogError TableAlreadyExists, ConcurrentModification, and those of `tablePlace`.
   */
  async createTableCommit(
    path: ObjectPath,
    record: TableRecord,
    checks: readonly Check[],
    writes: readonly Write[],
    replace?: Stored<TableRecord>,
    seal?: Seal<null>,
  ): Promise<void> {
    this.local.requireClaimed(record);
    return commitTable(this.#parts, path, { record, checks, writes, replace, seal });
  }

  /**
   * Drops a table; what it was is kept, so that it can be brought back.
   * @throws CatalogError TableNotFound.
   */
  async dropTable(
    path: ObjectPath,
    seal?: Seal<TableRecord>,
    judge?: JudgeTable,
  ): Promise<TableRecord> {
    const writes = ({ key, content: record }: Stored<TableRecord>) =>
      tableRemoval({ path, key, record }, Date.now());
    return commitRemoval(this.#parts, path, writes, seal, judge);
  }

  /**
   * Takes a table out of the catalog with all its files where they are.
   * @throws CatalogError TableNotFound.
   */
  async deregisterTable(
    path: ObjectPath,
    removalWrites: RemovalWrites,
    seal?: Seal<TableRecord>,
    judge?: JudgeTable,
  ): Promise<TableRecord> {
    const writes = (table: Stored<TableRecord>) => [
      ...deregistration(path, table),
      ...removalWrites(table.content),
    ];
    return commitRemoval(this.#parts, path, writes, seal, judge);
  }

  /**
   * Gives a table another name, in whatever namespace.
   * @throws CatalogError TableNotFound, TableAlreadyExists, and those of `tablePlace`.
   */
  async renameTable(
    from: ObjectPath,
    to: ObjectPath,
    seal?: Seal<TableRecord>,
    judge?: JudgeRename,
  ): Promise<TableRecord> {
    return commitRename(this.#parts, from, to, seal, judge);
  }

  /** The visible namespaces directly inside another, by name. */
  async namespacePage(parent: ObjectPath, page: PageRequest, permit: Permit): Promise<Page> {
    return visiblePage(this.#namespaces(parent, page), 'namespace', page.limit, permit);
  }

  /** The visible tables directly inside a namespace, by name. */
  async tablePage(
    parent: ObjectPath,
    page: PageRequest,
    filter: TableFilter,
    permit: Permit,
  ): Promise<Page> {
    const own = this.#virtual.tables(parent);
    const found = withEntries(this.#tables(parent, page, filter), own, page.after);
    return visiblePage(found, 'table', page.limit, permit);
  }

  /** The visible tables of all namespaces below the root, by their ids: paths joined by the delimiter. */
  async allTablesPage(
    delimiter: string,
    page: PageRequest,
    filter: TableFilter,
    permit: Permit,
    root: ObjectPath = [],
  ): Promise<Page> {
    const found = this.#allTables({ delimiter, root }, page, filter, permit);
    return visiblePage(found, 'table', page.limit, permit);
  }

  /** The first visible table, by its id, of a kind that is looked for. */
  async findTable(
    fits: (record: TableRecord) => boolean,
    permit: Permit,
  ): Promise<{ readonly path: ObjectPath; readonly record: TableRecord } | undefined> {
    const found = walkTables(this.#parts.store, {
      delimiter: '$',
      after: '',
      chunk: SMALLEST_CHUNK,
      opens: (path) => permit.sees(path, 'namespace'),
    });
    for await (const { path, value } of found) {
      const record = decodeTable(value);
      if (this.local.isHere(record) && fits(record) && permit.sees(path, 'table'))
        return { path, record };
    }
    return undefined;
  }

  async *#namespaces(parent: ObjectPath, page: PageRequest): AsyncGenerator<readonly Entry[]> {
    for await (const found of this.#children(namespacesOf(parent), page, true)) {
      yield found.map(({ name }) => ({ name, path: [...parent, name] }));
    }
  }

  async *#tables(
    parent: ObjectPath,
    page: PageRequest,
    filter: TableFilter,
  ): AsyncGenerator<readonly Entry[]> {
    for await (const found of this.#children(tablesOf(parent), page, filter.declared)) {
      const meant = filter.declared ? found : found.filter(({ value }) => passes(value, filter));
      yield meant.map(({ name }) => ({ name, path: [...parent, name] }));
    }
  }

  #children(
    prefix: string,
    page: PageRequest,
    keysOnly: boolean,
  ): AsyncGenerator<readonly Child[]> {
    return childrenByChunks(this.#parts.store, prefix, page.after, chunkOf(page), keysOnly);
  }

  async *#allTables(
    { delimiter, root }: Naming,
    page: PageRequest,
    filter: TableFilter,
    permit: Permit,
  ): AsyncGenerator<readonly Entry[]> {
    const found = walkTables(this.#parts.store, {
      delimiter,
      root,
      after: page.after,
      chunk: chunkOf(page),
      opens: (path) => permit.sees(path, 'namespace'),
    });
    for await (const { id, path, value } of found) {
      if (passes(value, filter)) yield [{ name: id, path }];
    }
  }
}

/** How the ids of tables are made from their paths: below a root, joined by a delimiter. */
interface Naming {
  readonly delimiter: string;
  readonly root: ObjectPath;
}

/** What the page holds, the name it begins after, and one more to know whether more follow; not so few that someone who sees little reads long. */
function chunkOf(page: PageRequest): number {
  return Math.max(page.limit + 2, SMALLEST_CHUNK);
}

function passes(value: Uint8Array, filter: TableFilter): boolean {
  return filter.declared || decodeTable(value).kind !== 'declared';
}

function rootStays(): CatalogError {
  return new CatalogError('InvalidInput', 'the root namespace cannot be dropped');
}
