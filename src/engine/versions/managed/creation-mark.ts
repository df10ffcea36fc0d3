import { join } from 'node:path';
import type { Store } from '../../../store/store.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { NOTHING, plus, type Freed, type Storage } from '../../../storage/storage.ts';
import {
  LANCE_DATA,
  LANCE_DELETIONS,
  LANCE_INDICES,
  LANCE_TRANSACTIONS,
  LANCE_VERSIONS,
} from '../../format/lance/versions.ts';
import { isFree, makeLocation, notEmpty, type TableRoots } from '../lines/locations.ts';

/** The file of a mark that holds a chosen location. */
const LOCATION = 'location';
/** The file at a chosen location that holds the id of the table that is being made there. */
const CLAIM = '.arrowgate-creation';

const LANCE_FOLDERS = [
  LANCE_VERSIONS,
  LANCE_DATA,
  LANCE_TRANSACTIONS,
  LANCE_DELETIONS,
  LANCE_INDICES,
];

/** A Lance table that is being made. */
interface NewTable {
  readonly id: string;
  /** Its folder. */
  readonly location: string;
  /** Whether the client chose the folder. */
  readonly isChosen: boolean;
}

interface MarkParts {
  readonly store: Store;
  readonly locations: TableRoots;
}

/**
 * Marks a Lance table that is being made. The mark is a folder among those of the engine, and names a
 * chosen location; what a crash leaves is collected with it. A chosen location has a claim as well:
 * only one table at a time is made there.
 */
export class CreationMark {
  readonly #parts: MarkParts;
  /** Absolute path of the mark. */
  readonly #folder: string;
  readonly #table: NewTable;

  private constructor(parts: MarkParts, folder: string, table: NewTable) {
    this.#parts = parts;
    this.#folder = folder;
    this.#table = table;
  }

  /**
   * Makes the mark, then the folder of the table.
   * @param own The folder that a table of this id would have among those of the engine.
   * @throws CatalogError InvalidInput for a chosen location that is not empty
   */
  static async make(parts: MarkParts, own: string, table: NewTable): Promise<CreationMark> {
    const { storage } = parts.locations;
    const mark = new CreationMark(parts, markOf(own), table);
    await storage.folders?.make(mark.#folder);
    // A part of a location would be another one.
    if (table.isChosen)
      await storage.putIfAbsent(join(mark.#folder, LOCATION), Buffer.from(table.location));
    try {
      await makeLocation(table.location, parts.locations);
      if (table.isChosen) await mark.#claim();
    } catch (error) {
      await mark.remove();
      throw error;
    }
    return mark;
  }

  /** Removes the mark: the table is there, or nothing is left of it. */
  async remove(): Promise<void> {
    const { storage } = this.#parts.locations;
    const { id, location, isChosen } = this.#table;
    if (isChosen) {
      await removeClaim(storage, { location, id }, false);
      await storage.remove(join(this.#folder, LOCATION));
    }
    await storage.folders?.removeIfEmpty(this.#folder);
  }

  /** Removes what was written of a table that does not come to be. */
  async removeFiles(): Promise<void> {
    const { locations, store } = this.#parts;
    const { location, isChosen } = this.#table;
    const { storage, own } = locations;
    if (isChosen) await removeLanceFiles({ storage, store }, location, false);
    else await storage.removeTree(location, { retained: own });
  }

  async #claim(): Promise<void> {
    const { storage } = this.#parts.locations;
    const { id, location } = this.#table;
    const draft = draftOf({ location, id });
    await storage.write(draft, Buffer.from(id));
    const placed = await storage.linkIfAbsent(draft, join(location, CLAIM));
    const names = (await storage.names(location)) ?? [];
    // Others may be about to place their claims.
    const isEmpty = names.every((name) => name.startsWith(CLAIM));
    if (placed === 'exists' || !isEmpty) throw notEmpty(location);
    await storage.remove(draft);
  }
}

/** A location that was chosen for a table. */
type ChosenPlace = Pick<NewTable, 'location' | 'id'>;

/** The file that becomes the claim of a table. */
function draftOf({ location, id }: ChosenPlace): string {
  return join(location, `${CLAIM}-${id}`);
}

/** The mark of a table by the folder that the engine would give it. */
export function markOf(own: string): string {
  return `${own}.lance`;
}

/** The chosen location that a mark names. */
export async function markedLocation(storage: Storage, mark: string): Promise<string | undefined> {
  return (await unlessMissing(storage.read(join(mark, LOCATION))))?.toString();
}

/** Whether a table claims its location: nobody else in the catalog has written there since. */
export async function isClaimed(storage: Storage, { location, id }: ChosenPlace): Promise<boolean> {
  return (await unlessMissing(storage.read(join(location, CLAIM))))?.toString() === id;
}

/** Removes the claim of a table, but not that of another one. */
export async function removeClaim(
  storage: Storage,
  place: ChosenPlace,
  dryRun: boolean,
): Promise<Freed> {
  const draft = await storage.remove(draftOf(place), dryRun);
  if (!(await isClaimed(storage, place))) return draft;
  return plus(draft, await storage.remove(join(place.location, CLAIM), dryRun));
}

/**
 * Removes the files that lie in the folders of a Lance table now, unless a table holds the location.
 * Files that come meanwhile belong to a table that took the location since, and stay.
 */
export async function removeLanceFiles(
  { storage, store }: { readonly storage: Storage; readonly store: Store },
  location: string,
  dryRun: boolean,
): Promise<Freed> {
  const [files, folders]: [string[], string[]] = [[], []];
  for (const name of LANCE_FOLDERS) {
    const folder = join(location, name);
    for await (const { path, isFolder } of storage.tree(folder))
      (isFolder ? folders : files).push(path);
    folders.push(folder);
  }
  if (!(await isFree(store, location))) return NOTHING;
  let freed = NOTHING;
  for (const path of files) freed = plus(freed, await storage.remove(path, dryRun));
  if (!dryRun) for (const folder of folders) await storage.folders?.removeIfEmpty(folder);
  return freed;
}
