import { realpath } from 'node:fs/promises';
import { unlessMissing } from '../../storage/storage-error.ts';

/** A folder of the configuration that is a link or lies behind one, and where it leads. */
type Moved = readonly [from: string, to: string];

/**
 * Where tables lie beside the engine's own folder. Nothing in a table's folder is read or removed
 * through a link; a folder that the configuration names may be one, so it is resolved here once.
 */
export class TablePlaces {
  /** Folders of the gateway itself, of which no removal takes anything. Absolute paths. */
  readonly kept: readonly string[];
  /** Mode of folders there; the umask decides when undefined. */
  readonly mode: number | undefined;
  readonly #moved: readonly Moved[];

  constructor(moved: readonly Moved[], kept: readonly string[], mode?: number) {
    this.#moved = moved;
    this.kept = kept;
    this.mode = mode;
  }

  /**
   * @param roots Folders of the configuration below which tables may lie.
   * @param kept Folders of the gateway itself.
   * @param mode Mode of folders that are made below the roots.
   */
  static async open(
    roots: readonly string[],
    kept: readonly string[],
    mode?: number,
  ): Promise<TablePlaces> {
    const resolved = roots.map(async (root): Promise<Moved> => {
      return [root, (await unlessMissing(realpath(root))) ?? root];
    });
    const moved = (await Promise.all(resolved)).filter(([from, to]) => from !== to);
    return new TablePlaces(moved, [...kept, ...roots], mode);
  }

  /** Path of a table's folder without the links of the configuration. @param location As its record has it. */
  folderAt(location: string): string {
    const root = this.#moved.find(([from]) => location.startsWith(`${from}/`));
    return root === undefined ? location : `${root[1]}${location.slice(root[0].length)}`;
  }
}
