import { candidatesOf, type Candidates, type RowFacts } from '../keys/candidates.ts';
import {
  storedIn,
  type Fragment,
  type FragmentIndex,
  type Snapshot,
} from '../../format/snapshot.ts';
import type { PartHeader } from './part-header.ts';
import type { Postings } from './postings.ts';
import type { TextReader, TokenVisitor } from './text-reader.ts';

/** Access to text indices. Throws `DamagedText` for a failed checksum. */
export interface TextSource {
  /** Lengths of the texts of a fragment's rows. */
  lengths(snapshot: Snapshot, file: FragmentIndex): Promise<PartHeader>;
  /** Postings of a token in a fragment, part by part. */
  postings(snapshot: Snapshot, file: FragmentIndex, token: string): Promise<readonly Postings[]>;
  /** Visits the tokens of a fragment from a given one on; those of each part are in order. */
  visitTokens(
    snapshot: Snapshot,
    file: FragmentIndex,
    from: string,
    visitor: TokenVisitor,
  ): Promise<void>;
  /** The deleted rows of a fragment, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /**
   * Groups rows of a fragment by batch.
   * @param rows Positions in its files, ascending, without deleted rows.
   */
  rows(snapshot: Snapshot, fragment: Fragment, rows: Uint32Array): Promise<Candidates>;
}

/** A text source over a reader. */
export function textSource(reader: TextReader, facts: RowFacts): TextSource {
  return {
    lengths: ({ folder }, file) => reader.lengths(storedIn(folder, file)),
    postings: ({ folder }, file, token) => reader.postings(storedIn(folder, file), token),
    visitTokens: ({ folder }, file, ...args) => reader.visitTokens(storedIn(folder, file), ...args),
    deletions: (...args) => facts.deletions(...args),
    rows: async (snapshot, fragment, rows) => {
      const deleted = await facts.deletions(snapshot, fragment);
      return candidatesOf(rows, true, deleted, await facts.starts(snapshot, fragment));
    },
  };
}
