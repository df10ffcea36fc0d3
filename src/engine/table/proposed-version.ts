import type { Manifest } from './manifest.ts';

/** A version that is to be committed: its files are written, nothing refers to them yet. */
export interface ProposedVersion {
  /** What it is built on; absent for the first version of a table. */
  readonly base: Manifest | undefined;
  readonly manifest: Manifest;
}

/** Judges a version before it is committed, again whenever it was built anew. @throws CatalogError for one that may not be. */
export type JudgeVersion = (proposed: ProposedVersion) => Promise<void>;
