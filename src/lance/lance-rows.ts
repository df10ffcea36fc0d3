import { CatalogError } from '../protocol/errors.ts';
import { canonicalPath } from '../protocol/identifier.ts';
import type { QueryRequest } from '../engine/request/request.ts';
import {
  LibraryEnded,
  type LanceTableChange,
  type LanceCounts,
  type LanceIndex,
  type LanceIndexStats,
  type LanceLibrary,
  type LancePlace,
  type LanceRowsPart,
  type LanceStatement,
  type LanceTableVersion,
  type LanceVersions,
} from '../engine/versions/managed/lance-library.ts';
import { MAIN } from '../engine/format/chain.ts';
import { ChangeCommit } from './change-commit.ts';
import type { RowsPool } from './library-pool.ts';
import type {
  CommittedVersion,
  LibraryTask,
  QueryMessage,
  StoreAccess,
  TableAtVersion,
  VersionQuestion,
} from './wire/messages.ts';

/** How often a read is begun again because the process ended. Another task may have ended it. */
const MAX_REPEATS = 2;

const NO_VECTORS = new Uint8Array(0);

type TaskWork<Task = LibraryTask> = Task extends { readonly table: TableAtVersion }
  ? Omit<Task, 'name' | 'table'>
  : never;

/** How the library reaches a location in an object store; undefined for a folder. */
export type AccessOf = (location: string) => Promise<StoreAccess | undefined>;

const noStores: AccessOf = async () => undefined;

/** Row operations on Lance tables, run in the processes of a pool. */
export class LanceRows implements LanceLibrary {
  readonly #pool: RowsPool;
  readonly #stores: AccessOf;

  constructor(pool: RowsPool, stores: AccessOf = noStores) {
    this.#pool = pool;
    this.#stores = stores;
  }

  get rowBytes(): number {
    return this.#pool.rowBytes;
  }

  reuse(piece: Uint8Array): void {
    this.#pool.reuse(piece);
  }

  async query(
    table: LanceTableVersion,
    query: QueryRequest,
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const work = { kind: 'query', query: queryMessage(query) } as const;
    return this.#run(table, work, statement, vectorsOf(query));
  }

  async count(
    table: LanceTableVersion,
    predicate: string | null,
    statement: LanceStatement,
  ): Promise<bigint> {
    return BigInt(await this.#text(table, { kind: 'count', predicate }, statement, NO_VECTORS));
  }

  async scan(
    table: LanceTableVersion,
    columns: readonly string[],
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return filesIn(await this.#run(table, { kind: 'scan', columns }, statement, NO_VECTORS));
  }

  async rows(
    table: LanceTableVersion,
    columns: readonly string[],
    ids: BigUint64Array | null,
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const work = { kind: 'rows', columns, isAll: ids === null } as const;
    const bytes =
      ids === null ? NO_VECTORS : new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength);
    return filesIn(await this.#run(table, work, statement, bytes));
  }

  async explain(
    table: LanceTableVersion,
    query: QueryRequest,
    verbose: boolean,
    statement: LanceStatement,
  ): Promise<string> {
    const work = { kind: 'explain', query: queryMessage(query), verbose } as const;
    return this.#text(table, work, statement, vectorsOf(query));
  }

  async analyze(
    table: LanceTableVersion,
    query: QueryRequest,
    statement: LanceStatement,
  ): Promise<string> {
    const work = { kind: 'analyze', query: queryMessage(query) } as const;
    return this.#text(table, work, statement, vectorsOf(query));
  }

  async indices(
    table: LanceTableVersion,
    statement: LanceStatement,
  ): Promise<readonly LanceIndex[]> {
    const text = await this.#text(table, { kind: 'indices' }, statement, NO_VECTORS);
    return JSON.parse(text) as readonly LanceIndex[];
  }

  async indexStats(
    table: LanceTableVersion,
    index: string,
    statement: LanceStatement,
  ): Promise<LanceIndexStats | null> {
    const work = { kind: 'index_stats', index } as const;
    return JSON.parse(
      await this.#text(table, work, statement, NO_VECTORS),
    ) as LanceIndexStats | null;
  }

  async prewarm(table: LanceTableVersion, index: string, statement: LanceStatement): Promise<void> {
    await this.#text(table, { kind: 'prewarm', index }, statement, NO_VECTORS);
  }

  async change(
    place: LancePlace | LanceTableVersion,
    change: LanceTableChange,
    rows: LanceRowsPart | null,
    versions: LanceVersions,
    statement: LanceStatement,
  ): Promise<LanceCounts> {
    const isSeveral = change.kind === 'compact';
    const commit = new ChangeCommit(versions, isSeveral);
    const { id, location, branch } = place;
    const name = canonicalPath(place.path);
    const store = await this.#storeOf(location);
    const table = { id, location, branch, ...store };
    const isKept = staysOpen(change) && branch === MAIN && versions.isRewritten !== true;
    const newest = isKept && 'at' in place ? { ...placeOf(place), ...store } : null;
    const task = {
      kind: 'change',
      name,
      table,
      newest,
      isKept,
      change,
      rowBytes: rows?.bytes ?? null,
    } as const;
    const input = { rows, versions: (question: VersionQuestion) => commit.answer(question) };
    const counts = repeated(async (): Promise<LanceCounts> => {
      try {
        return countsOf(JSON.parse(await textOf(await this.#pool.run(task, statement, input))));
      } catch (error) {
        // A committed change stays, whatever became of the process. Of several commits there may be one that is missing.
        if ((await commit.isMade()) && !isSeveral) return {};
        throw commit.causeOf(error);
      }
    });
    const known = commit.first.then((): LanceCounts => ({}));
    try {
      return await (isCounted(change) ? Promise.race([counts, known]) : counts);
    } finally {
      await commit.close();
    }
  }

  async #run(
    table: LanceTableVersion,
    work: TaskWork,
    statement: LanceStatement,
    vectors: Uint8Array,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const task = await this.#taskOf(table, work);
    return repeated(() => this.#pool.run(task, statement, { vectors }));
  }

  async #text(
    table: LanceTableVersion,
    work: TaskWork,
    statement: LanceStatement,
    vectors: Uint8Array,
  ): Promise<string> {
    const task = await this.#taskOf(table, work);
    return repeated(async () => textOf(await this.#pool.run(task, statement, { vectors })));
  }

  async #taskOf(table: LanceTableVersion, work: TaskWork): Promise<LibraryTask> {
    const place = { ...placeOf(table), ...(await this.#storeOf(table.location)) };
    return { ...work, name: canonicalPath(table.path), table: place };
  }

  async #storeOf(location: string): Promise<{ readonly store?: StoreAccess }> {
    const store = await this.#stores(location);
    return store === undefined ? {} : { store };
  }
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

const LENGTH_BYTES = 4;

/** The files in a stream of files, each after its length. They lie in memory of their own. */
async function* filesIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let [bytes, wanted] = [0, LENGTH_BYTES];
  let isLength = true;
  for await (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.byteLength;
    while (bytes >= wanted) {
      const all =
        waiting.length === 1
          ? Buffer.from(waiting[0]!.buffer, waiting[0]!.byteOffset, bytes)
          : Buffer.concat(waiting);
      const part = all.subarray(0, wanted);
      waiting = [all.subarray(wanted)];
      bytes -= wanted;
      if (!isLength) yield Uint8Array.from(part);
      wanted = isLength ? part.readUInt32LE(0) : LENGTH_BYTES;
      isLength = !isLength;
    }
  }
}

/** Whether the manifest of a change says all that its answer does, so that nobody waits for the library after the commit. */
function isCounted({ kind }: LanceTableChange): boolean {
  return counted.has(kind);
}

const counted: ReadonlySet<LanceTableChange['kind']> = new Set([
  'append',
  'overwrite',
  'delete',
  'update',
]);

/** Whether the table of a change may stay open: changes of rows follow one another. */
function staysOpen({ kind }: LanceTableChange): boolean {
  return keeping.has(kind);
}

const keeping: ReadonlySet<LanceTableChange['kind']> = new Set([
  'create',
  'append',
  'overwrite',
  'delete',
  'update',
  'merge',
]);

/** The numbers of a result of the library. */
function countsOf(result: object): LanceCounts {
  const numbers = Object.entries(result).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(numbers);
}

/** Begins work again when its process ended before it had a result. */
async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LibraryEnded) || repeats === MAX_REPEATS) throw error;
    }
  }
}

function queryMessage({ nearest, ...query }: QueryRequest): QueryMessage {
  if (nearest === null) return { ...query, nearest };
  const { vectors, batch: _, ...search } = nearest;
  return { ...query, nearest: { ...search, lengths: vectors.map(({ length }) => length) } };
}

function vectorsOf({ nearest }: QueryRequest): Uint8Array {
  if (nearest === null) return NO_VECTORS;
  return Buffer.concat(
    nearest.vectors.map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  );
}

function placeOf({ id, location, branch, at, main }: LanceTableVersion): TableAtVersion {
  return { id, location, branch, at: committed(at), main: committed(main) };
}

/** @throws CatalogError Unsupported for versions that belong to no line of versions. */
function committed({ version, manifest }: LanceTableVersion['at']): CommittedVersion {
  const number = Number(version);
  if (number > 0 && Number.isSafeInteger(number)) return { version: number, manifest };
  throw new CatalogError(
    'Unsupported',
    `version ${version} is detached: the Lance library reads versions of main and of branches`,
  );
}
