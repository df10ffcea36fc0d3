import type { Store } from '../../store/store.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Committer } from '../catalog/commit-loop.ts';
import type { KnownManifests } from '../managed/known-manifests.ts';
import type { Branches } from '../table/branches.ts';
import type { TableRoots } from '../table/locations.ts';
import type { Tables } from '../table/tables.ts';
import type { Tags } from '../table/tags.ts';
import type { VersionStore } from '../table/version-store.ts';

/** What the operations work with that coordinate the versions of Lance clients. */
export interface ManagedParts {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly committer: Committer;
  readonly versions: VersionStore;
  readonly branches: Branches;
  readonly tags: Tags;
  readonly tables: Tables;
  readonly locations: TableRoots;
  /** Manifests that need not be read again. */
  readonly manifests?: KnownManifests;
}
