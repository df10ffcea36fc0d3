import type * as LanceDb from '@lancedb/lancedb';
import type { LibraryTask } from '../wire/messages.ts';
import { joinedFile } from './arrow-file.ts';
import { libraryQuery, sizedFiles, type LibraryQuery } from './library-query.ts';

/** Waits for the library; throws as soon as the task is to end, though the library may go on. */
export type Await = <Result>(work: Promise<Result>) => Promise<Result>;

/** What a task works with. */
export interface TaskParts {
  readonly library: typeof LanceDb;
  readonly table: LanceDb.Table;
  readonly vectors: Float32Array;
  readonly until: Await;
}

/** A task that reads a table that stays open. */
export type ReadTask = Exclude<LibraryTask, { readonly kind: 'change' | 'scan' }>;

/** The result of a task, in pieces. @throws as the library does */
export function taskPieces(parts: TaskParts, task: ReadTask): AsyncGenerator<Uint8Array> {
  return runners[task.kind](parts, task as never);
}

const runners: {
  readonly [Kind in ReadTask['kind']]: (
    parts: TaskParts,
    task: Extract<ReadTask, { readonly kind: Kind }>,
  ) => AsyncGenerator<Uint8Array>;
} = {
  async *query(parts, { query }) {
    yield* rowsOf(await queryOf(parts, query), parts.until);
  },
  async *count({ table, until }, { predicate }) {
    yield textBytes(String(await until(table.countRows(predicate ?? undefined))));
  },
  async *indices({ table, until }) {
    yield textBytes(JSON.stringify(await until(table.listIndices())));
  },
  async *index_stats({ table, until }, { index }) {
    yield textBytes(JSON.stringify((await until(table.indexStats(index))) ?? null));
  },
  async *prewarm({ table, until }, { index }) {
    await until(table.prewarmIndex(index));
    yield textBytes('');
  },
  async *rows({ table, vectors, until }, { columns, isAll }) {
    const { buffer } = vectors;
    const rows = isAll ? table.query() : table.takeRowIds([...new BigUint64Array(buffer)]);
    const { inner } = rows.select([...columns]).withRowId() as unknown as {
      readonly inner: LibraryQuery | Promise<LibraryQuery>;
    };
    const batches = await until((await inner).execute());
    yield* sizedFiles(oneAhead(() => until(batches.next())));
  },
  async *explain(parts, { query, verbose }) {
    const built = await queryOf(parts, query);
    yield textBytes(await parts.until(built.explainPlan(verbose)));
  },
  async *analyze(parts, { query }) {
    const built = await queryOf(parts, query);
    yield textBytes(await parts.until(built.analyzePlan()));
  },
};

function queryOf(
  { library, table, vectors }: TaskParts,
  query: Parameters<typeof libraryQuery>[2],
): Promise<LibraryQuery> {
  return libraryQuery(library, table, query, vectors);
}

async function* rowsOf(query: LibraryQuery, until: Await): AsyncGenerator<Uint8Array> {
  const batches = await until(query.execute());
  const next = oneAhead(() => until(batches.next()));
  const first = await next();
  yield* joinedFile(first ?? (await until(query.outputSchema())), next);
}

/** Reads the next value while the one before is used. */
function oneAhead<Value>(read: () => Promise<Value | null>): () => Promise<Value | null> {
  let ahead = read();
  return () => {
    const current = ahead;
    ahead = current.then((value) => (value === null ? null : read()));
    // It fails for the call that takes it, if there is one.
    ahead.catch(() => undefined);
    return current;
  };
}

function textBytes(text: string): Uint8Array {
  return Buffer.from(text);
}
