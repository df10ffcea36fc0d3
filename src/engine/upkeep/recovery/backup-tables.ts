import { join, relative, sep } from 'node:path';
import type { StoreEntry } from '../../../store/store.ts';
import type { JournalState } from '../../catalog/journal/journal-state.ts';
import { compareBytewise } from '../../catalog/records/bytewise.ts';
import {
  decodeDropped,
  decodeTable,
  encodeDropped,
  encodeTable,
} from '../../catalog/records/records-codec.ts';
import type { TableRecord } from '../../format/records.ts';
import { isObjectKey } from '../../../storage/object-key.ts';
import { reserveLocation } from '../../versions/lines/locations.ts';
import { tableOf } from './journaled-heads.ts';

/** Source and target folders of tables. Absolute paths. */
interface BackupPlaces {
  readonly folder: (table: TableRecord) => string;
  /** Folder in which Lance clients write. */
  readonly managed: string;
  /** The data folder of the backup. */
  readonly target: string;
}

export interface BackupTable {
  /** As it is. */
  readonly record: TableRecord;
  /** Source and target folder; null if the files stay outside of the backup. */
  readonly from: string;
  readonly to: string | null;
}

/** Every table of a state by its id, those too that were dropped and can be brought back. */
export async function backupTables(
  state: JournalState,
  places: BackupPlaces,
): Promise<ReadonlyMap<string, BackupTable>> {
  const tables = new Map<string, BackupTable>();
  for await (const entry of state.entries()) {
    const record = tableOf(entry);
    if (record !== undefined) tables.set(record.id, placed(record, places));
  }
  return tables;
}

function placed(record: TableRecord, { folder, managed, target }: BackupPlaces): BackupTable {
  const from = folder(record);
  if (record.kind === 'engine') return { record, from, to: join(target, 'tables', record.id) };
  // Objects stay in their store.
  if (isObjectKey(from)) return { record, from, to: null };
  const inside = relative(managed, from);
  const isInside = inside !== '' && inside.split(sep)[0] !== '..';
  return { record, from, to: isInside ? join(target, 'lance', inside) : null };
}

/** The entries of a state with its tables where the backup has them. */
export async function* movedEntries(
  state: JournalState,
  tables: ReadonlyMap<string, BackupTable>,
): AsyncGenerator<StoreEntry> {
  let reservations: StoreEntry[] | undefined = [];
  for await (const entry of state.entries()) {
    if (entry.key.startsWith('L')) {
      reservations?.push(...movedReservation(entry, tables));
      continue;
    }
    if (reservations !== undefined && entry.key > 'L') {
      yield* reservations.toSorted((left, right) => compareBytewise(left.key, right.key));
      reservations = undefined;
    }
    yield moved(entry, tables);
  }
  yield* reservations ?? [];
}

/** The reservation of a table's location: none where its folder is the engine's own. */
function movedReservation(
  entry: StoreEntry,
  tables: ReadonlyMap<string, BackupTable>,
): readonly StoreEntry[] {
  const table = tables.get(Buffer.from(entry.value).toString());
  if (table === undefined || table.to === null) return [entry];
  if (table.record.kind === 'engine') return [];
  return reserveLocation(table.to, table.record.id).writes.flatMap(({ key, value }) =>
    value === null ? [] : [{ key, value }],
  );
}

function moved(entry: StoreEntry, tables: ReadonlyMap<string, BackupTable>): StoreEntry {
  const { key, value } = entry;
  if (key.startsWith('T'))
    return { key, value: encodeTable(movedRecord(decodeTable(value), tables)) };
  if (!key.startsWith('D')) return entry;
  const dropped = decodeDropped(value);
  return { key, value: encodeDropped({ ...dropped, record: movedRecord(dropped.record, tables) }) };
}

function movedRecord(record: TableRecord, tables: ReadonlyMap<string, BackupTable>): TableRecord {
  const to = tables.get(record.id)?.to ?? null;
  if (record.location === null || to === null) return record;
  return { ...record, location: record.kind === 'engine' ? null : to };
}
