import { join } from 'node:path';
import type { Notes } from '../store/notes.ts';
import type { Storage } from '../storage/storage.ts';
import { folderJournal } from './catalog/journal/journal-place.ts';
import { TablePlaces } from './format/table-places.ts';
import { Presence } from './versions/leases/presence.ts';
import { folderBoard, notedBoard } from './versions/leases/presence-board.ts';
import type { Running } from './versions/leases/running.ts';
import type { LocationRules, TableRoots } from './versions/lines/locations.ts';

/** Where an engine keeps its data, and learns of other processes. */
export interface PlaceOptions {
  /** The data folder. */
  readonly data: string;
  /** The journal: a key in an object store; a folder of the data folder unless given. */
  readonly journal?: string | undefined;
  /**
   * Opens notes beside the store in which processes publish what is in progress; in the folder of the journal unless
   * given. Required for processes that share no folder.
   */
  readonly presence?: (() => Promise<Notes>) | undefined;
  readonly locations: LocationRules;
  /**
   * Whether the data folder cannot be written, and the store was opened for reading: commits are
   * refused, `upkeep` is null, no work begins, and what a crash left undone stays so.
   */
  readonly readOnly?: boolean;
}

/** The folder of the journal. */
export function journalOf({ data, journal }: Pick<PlaceOptions, 'data' | 'journal'>): string {
  return journal ?? folderJournal(data);
}

/** What other processes of the catalog know of this one, and it of them. */
export async function presenceIn(
  storage: Storage,
  options: PlaceOptions,
  running: Running,
): Promise<Presence> {
  const board =
    options.presence === undefined
      ? folderBoard(storage, join(journalOf(options), 'processes'))
      : notedBoard(await options.presence());
  return options.readOnly === true
    ? Presence.openForReading(board, running)
    : Presence.open(board, running);
}

/** Makes the folder that holds the folders of tables; its path without links. */
export async function tablesFolder(storage: Storage, data: string): Promise<string> {
  await storage.folders?.make(join(data, 'tables'));
  return storage.resolve(join(data, 'tables'));
}

/** The folders where tables may lie, and those of the gateway itself. */
export async function tablePlacesOf(storage: Storage, options: PlaceOptions): Promise<TablePlaces> {
  const { managed, allowed, mode } = options.locations;
  await storage.folders?.make(managed, mode);
  const own = [options.data, ...ownFolders(options)];
  return TablePlaces.open(storage, [managed, ...allowed], own, mode);
}

export function rootsOf(storage: Storage, options: PlaceOptions): TableRoots {
  return { ...options.locations, storage, own: ownFolders(options) };
}

/** Folders of the gateway itself, which no table's location may touch. */
function ownFolders(options: PlaceOptions): readonly string[] {
  const inner = ['tables', 'catalog', 'private'].map((name) => join(options.data, name));
  return [...new Set([...inner, journalOf(options)])];
}
