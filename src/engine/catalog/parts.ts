import type { Store } from '../../store/store.ts';
import type { Committer } from './commit-loop.ts';
import type { RecordReader } from './reader.ts';

/** What the changes of a catalog work with. */
export interface CatalogParts {
  readonly store: Store;
  readonly reader: RecordReader;
  readonly committer: Committer;
}
