import type * as LanceDb from '@lancedb/lancedb';
import type { LanceRowChange } from '../../engine/versions/managed/lance-library.ts';
import type { TablePlace, VersionReply } from '../wire/messages.ts';
import type { AnswerVersions, CatalogEndpoint } from './catalog-endpoint.ts';
import { openAt } from './open-tables.ts';
import type { Await } from './tasks.ts';

/** A connection of the library below its classes for rows, which would decode them. */
interface NativeConnection {
  createTable(name: string, file: Uint8Array, mode: string, namespace: string[]): Promise<object>;
}

/** A table of the library, likewise. */
interface NativeTable {
  add(file: Uint8Array, mode: string): Promise<object>;
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
  readonly endpoint: CatalogEndpoint;
  readonly place: TablePlace;
  /** The rows of the change as an Arrow file. */
  readonly rows: Uint8Array;
  /** Asks the catalog of the gateway. */
  readonly ask: AnswerVersions;
  readonly until: Await;
}

/** Caches of one change, in bytes. */
const CACHE_BYTES = 2n ** 24n;

/**
 * Changes rows. The table is opened for this change alone, with caches of its own: after a refused
 * commit the library believes in a version that does not exist.
 * @returns The counts of the library. @throws as the library does
 */
export async function changeRows(parts: ChangeParts, change: LanceRowChange): Promise<object> {
  const { library, endpoint, place, until } = parts;
  const name = endpoint.addOpen(place, (question) => answerOf(parts, question));
  const { url: uri, headers } = endpoint;
  const session = new library.Session(CACHE_BYTES, CACHE_BYTES);
  const work = library
    .connectNamespace('rest', { uri, headers }, { session })
    .then(async (connection) => {
      if (change.kind === 'create') return created(connection, name, parts.rows);
      return changed(await openAt(connection, name, place.branch), change, parts.rows);
    });
  // The library may ask for its commit after the task was cancelled, and must get an answer.
  const forget = (): void => endpoint.remove(name);
  work.then(forget, forget);
  return until(work);
}

/**
 * The library takes every failure of a commit for a conflict and repeats it for minutes. So a commit that
 * the catalog refused looks to it as if it had succeeded; the gateway knows better.
 */
async function answerOf(
  { ask }: ChangeParts,
  question: Parameters<AnswerVersions>[0],
): Promise<VersionReply> {
  const reply = await ask(question);
  const isRefused = question.action === 'version/create' && reply.status >= 400;
  if (!isRefused || reply.status === 409) return reply;
  const { version, manifest_path } = question.body;
  return { status: 200, value: { version: { version, manifest_path, timestamp_millis: 0 } } };
}

async function created(
  connection: LanceDb.Connection,
  name: string,
  rows: Uint8Array,
): Promise<object> {
  const native = (connection as unknown as { readonly inner: NativeConnection }).inner;
  await native.createTable(name, rows, 'create', []);
  return {};
}

async function changed(
  table: LanceDb.Table,
  change: Exclude<LanceRowChange, { readonly kind: 'create' }>,
  rows: Uint8Array,
): Promise<object> {
  const native = (table as unknown as { readonly inner: NativeTable }).inner;
  if (change.kind === 'delete') return table.delete(change.predicate);
  if (change.kind === 'update') {
    const where = change.predicate === null ? {} : { where: change.predicate };
    return table.update({ valuesSql: new Map(change.updates), ...where });
  }
  if (change.kind !== 'merge') return native.add(rows, change.kind);
  let merge = native.mergeInsert(change.on).useIndex(change.useIndex);
  if (change.update) merge = merge.whenMatchedUpdateAll(change.updateIf);
  if (change.insert) merge = merge.whenNotMatchedInsertAll();
  if (change.remove) merge = merge.whenNotMatchedBySourceDelete(change.removeIf);
  return merge.execute(rows);
}
