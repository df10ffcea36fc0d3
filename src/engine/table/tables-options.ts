import type { Store } from '../../store/store.ts';
import type { Committer } from '../catalog/commit-loop.ts';
import type { Stored, TableRecord } from '../catalog/records.ts';
import type { Horizon } from '../retention/horizon.ts';
import type { Chain } from './chain.ts';
import type { Manifest } from './manifest.ts';
import type { ManifestStore } from './manifest-store.ts';
import type { TablePlaces } from './table-places.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** What the tables of an engine work with. */
export interface TablesOptions {
  /** The folder that holds a folder for each table. */
  readonly root: string;
  /** Where the folders of other tables lie; without it they lie where their records say. */
  readonly places?: TablePlaces;
  readonly store: Store;
  readonly committer: Committer;
  /** Memory for manifests. */
  readonly memory: MemoryBudget;
  /** Manifests that are shared with others, in place of some of its own. */
  readonly manifests?: ManifestStore;
  /** Told of each version that a table got, once it is settled. It must not throw. */
  readonly onCommit?: OnCommit;
  /** What is under way in all processes; without it nothing is, and this process is alone. */
  readonly horizon?: Horizon;
  /** Whether versions are only read: what a crash left undone of them stays so. */
  readonly reading?: boolean;
  /** Told when files were removed, so that they do not stay open. */
  readonly removed?: () => Promise<void>;
}

/** Told of a version that a line of a table's versions got. */
export type OnCommit = (table: Stored<TableRecord>, chain: Chain, manifest: Manifest) => void;
