import { join } from 'node:path';
import { candidatesOf, type Candidates, type RowFacts } from '../index/candidates.ts';
import type { Fragment, FragmentIndex, Snapshot } from '../table/snapshot.ts';
import type { LoadedCodes } from './code-search.ts';
import type { CodeStore } from './code-store.ts';

/** Reads the codes of vector indices, and the rows that were chosen by them. */
export interface VectorSource {
  /** The codes of a file; null when it is damaged, which is told to whoever keeps the table. */
  codes(folder: string, file: FragmentIndex): Promise<LoadedCodes | null>;
  /** The deleted rows of a fragment, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /** Some rows of a fragment, ascending, by batches. */
  candidates(snapshot: Snapshot, fragment: Fragment, rows: Uint32Array): Promise<Candidates>;
}

/** Codes that a store keeps, of fragments whose rows somebody else knows. */
export function vectorSource(codes: CodeStore, rows: RowFacts): VectorSource {
  return {
    codes: (folder, file) => codes.codes(join(folder, file.path)),
    deletions: (snapshot, fragment) => rows.deletions(snapshot, fragment),
    candidates: async (snapshot, fragment, chosen) => {
      const deleted = await rows.deletions(snapshot, fragment);
      return candidatesOf(chosen, true, deleted, await rows.starts(snapshot, fragment));
    },
  };
}
