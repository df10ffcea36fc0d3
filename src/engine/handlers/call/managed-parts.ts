import type { Storage } from '../../../storage/storage.ts';
import type { VendingStores } from '../../../storage/vending/credential-vendor.ts';
import type { Store } from '../../../store/store.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Committer } from '../../catalog/records/commit-loop.ts';
import type { KnownManifests } from '../../versions/managed/known-manifests.ts';
import type { Branches } from '../../versions/lines/branches.ts';
import type { TableRoots } from '../../versions/lines/locations.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import type { VersionStore } from '../../versions/lines/version-store.ts';

/** Parts of the operations that coordinate versions of Lance clients. */
export interface ManagedParts {
  readonly storage: Storage;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly committer: Committer;
  readonly versions: VersionStore;
  readonly branches: Branches;
  readonly tags: Tags;
  readonly tables: Tables;
  readonly locations: TableRoots;
  /** Folders of the gateway itself, of which nothing is removed. */
  readonly retained: readonly string[];
  /** Where credentials of tables come from; nowhere if absent. */
  readonly vending?: VendingStores | undefined;
  /** Cached manifests. */
  readonly manifests?: KnownManifests;
}
