import type { Store } from '../../../store/store.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { CatalogParts } from '../../catalog/records/reader.ts';
import type { TableRecord } from '../../format/records.ts';
import type { Horizon } from '../../versions/leases/horizon.ts';
import type { WalkParts } from '../../catalog/records/version-walk.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Waste } from '../../versions/leases/waste.ts';

/** Dependencies of the upkeep of files. */
export interface RetentionParts extends CatalogParts, WalkParts {
  readonly storage: Storage;
  readonly store: Store;
  /** The folder that holds the folders of tables. */
  readonly root: string;
  /** The folder of the catalog's journal. */
  readonly journal: string;
  /** The file of the key of masks, which may be an object. */
  readonly maskKey: string;
  /** The folder where Lance clients write: absolute. */
  readonly managed: string;
  /** Folders of the gateway itself, of which no removal takes anything: absolute. */
  readonly retained: readonly string[];
  readonly folder: (table: TableRecord) => string;
  readonly waste: Waste;
  /** Work that removes versions of a table, while no writer of this process is at it. */
  readonly removing: Tables['removing'];
  /** Milliseconds since 1970, of the clock that times versions. */
  readonly clock: () => number;
  readonly horizon: Horizon;
  /** Called when files were removed, so that they do not stay open. */
  readonly removed: () => Promise<void>;
  /** Whether the files of a table can be reached from here: those of others are left to their gateway. */
  readonly isHere: (table: TableRecord) => boolean;
  /** Name of this process. */
  readonly process: string;
  /** Whether the process of a name may still be alive. */
  readonly isAlive: (process: string) => Promise<boolean>;
}
