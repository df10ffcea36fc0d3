import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Check, Store, Write } from '../../store/store.ts';
import { commitLoop } from './records/commit-loop.ts';
import { droppedKey, prefixRange, purgedKey, tableKey } from './records/keys.ts';
import { unchanged, type CatalogParts } from './records/reader.ts';
import { decodeDropped, encodeTable } from './records/records-codec.ts';
import type { DroppedRecord, Stored, TableRecord } from '../format/records.ts';
import { tableAlreadyExists } from './records/refusals.ts';
import { tablePlace } from './table-place.ts';

const CHUNK = 1000;

/** Which dropped table is brought back, and where. */
interface Undrop {
  /** The path that it had. */
  readonly path: ObjectPath;
  /** Its id; the one that was dropped last of that path when absent. */
  readonly id?: string | undefined;
  /** The path that it gets; the one that it had when absent. */
  readonly as?: ObjectPath | undefined;
  /** Further checks and writes of the same commit. */
  readonly also: (
    table: TableRecord,
  ) => Promise<{ readonly checks: readonly Check[]; readonly writes: readonly Write[] }>;
}

/**
 * Brings a dropped table back, with everything that belongs to it: all of that
 * is kept under its id.
 * @throws CatalogError TableNotFound when no such table can be brought back, and
 * those of `tablePlace` and TableAlreadyExists for the place where it would be.
 */
export async function undropTable(parts: CatalogParts, undrop: Undrop): Promise<DroppedRecord> {
  const to = undrop.as ?? undrop.path;
  let last: DroppedRecord | undefined;
  return commitLoop(parts.committer, async (uncertain) => {
    const place = await tablePlace(parts, to);
    if (uncertain && last !== undefined && place.existing?.content.id === last.record.id) {
      return { kind: 'done', result: last };
    }
    const dropped = await requireDropped(parts.store, undrop);
    if (place.existing !== undefined) throw tableAlreadyExists(to);
    last = dropped.content;
    const { record } = last;
    const also = await undrop.also(record);
    return {
      kind: 'commit',
      checks: [unchanged(dropped), ...place.checks, ...also.checks],
      writes: [
        { key: dropped.key, value: null },
        { key: tableKey(to), value: encodeTable(record) },
        ...also.writes,
      ],
      result: last,
    };
  });
}

/** The tables that were dropped and can be brought back, in the order of their ids. */
export async function* droppedTables(store: Store): AsyncGenerator<Stored<DroppedRecord>> {
  const { start, end } = prefixRange(droppedKey(''));
  let next = start;
  for (;;) {
    const entries = await store.range({ start: next, end, limit: CHUNK });
    for (const { key, value } of entries) yield { key, value, content: decodeDropped(value) };
    const last = entries.at(-1);
    if (last === undefined || entries.length < CHUNK) return;
    next = `${last.key}\u0000`;
  }
}

async function requireDropped(store: Store, { path, id }: Undrop): Promise<Stored<DroppedRecord>> {
  const found = id === undefined ? await newest(store, path) : await ofId(store, path, id);
  if (found !== undefined) return found;
  const which = id === undefined ? '' : ` with the id ${JSON.stringify(id)}`;
  const isPurged = id !== undefined && (await store.get(purgedKey(id))) !== undefined;
  throw new CatalogError(
    'TableNotFound',
    isPurged
      ? `the files of the dropped table ${canonicalPath(path)}${which} are being removed`
      : `there is no dropped table ${canonicalPath(path)}${which} that can be brought back: \`arrowgate catalog dropped\` lists those that can`,
  );
}

async function newest(store: Store, path: ObjectPath): Promise<Stored<DroppedRecord> | undefined> {
  const wanted = canonicalPath(path);
  let best: Stored<DroppedRecord> | undefined;
  for await (const dropped of droppedTables(store)) {
    if (canonicalPath(dropped.content.path) !== wanted) continue;
    const { droppedMillis } = dropped.content;
    if (best === undefined || droppedMillis >= best.content.droppedMillis) best = dropped;
  }
  return best;
}

async function ofId(
  store: Store,
  path: ObjectPath,
  id: string,
): Promise<Stored<DroppedRecord> | undefined> {
  const key = droppedKey(id);
  const value = await store.get(key);
  if (value === undefined) return undefined;
  const content = decodeDropped(value);
  if (canonicalPath(content.path) !== canonicalPath(path)) return undefined;
  return { key, value, content };
}
