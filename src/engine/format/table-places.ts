import type { Storage } from '../../storage/storage.ts';
import { unlessMissing } from '../../storage/storage-error.ts';

/** A configured folder that is or lies behind a symbolic link, and its target. */
type Moved = readonly [from: string, to: string];

/**
 * Locations of tables outside of the engine's folder. Symbolic links in table folders are never
 * followed; configured folders may be links, so they are resolved once here.
 */
export class TablePlaces {
  /** Absolute paths of the gateway's own folders, in which no removal happens. */
  readonly retained: readonly string[];
  /** Mode of created folders; the umask decides if undefined. */
  readonly mode: number | undefined;
  readonly #moved: readonly Moved[];

  constructor(moved: readonly Moved[], retained: readonly string[], mode?: number) {
    this.#moved = moved;
    this.retained = retained;
    this.mode = mode;
  }

  /**
   * @param roots Folders of the configuration below which tables may lie.
   * @param retained Folders of the gateway itself.
   * @param mode Mode of folders that are made below the roots.
   */
  static async open(
    storage: Storage,
    roots: readonly string[],
    retained: readonly string[],
    mode?: number,
  ): Promise<TablePlaces> {
    const resolved = roots.map(async (root): Promise<Moved> => {
      return [root, (await unlessMissing(storage.resolve(root))) ?? root];
    });
    const moved = (await Promise.all(resolved)).filter(([from, to]) => from !== to);
    return new TablePlaces(moved, [...retained, ...roots], mode);
  }

  /**
   * Path of a table's folder with configured links resolved.
   * @param location The location in the table's record.
   */
  folderAt(location: string): string {
    const root = this.#moved.find(([from]) => location.startsWith(`${from}/`));
    return root === undefined ? location : `${root[1]}${location.slice(root[0].length)}`;
  }
}
