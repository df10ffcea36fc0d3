import { candidatesOf, type Candidates, type RowFacts } from '../keys/candidates.ts';
import type { Fragment, FragmentIndex, Snapshot } from '../../format/snapshot.ts';
import type { PartHeader } from './part-header.ts';
import type { Postings } from './postings.ts';
import type { TextReader, TokenVisitor } from './text-reader.ts';

/** Where searches get what text indices know. What fails its checksum throws `DamagedText`. */
export interface TextSource {
  /** How long the texts of a fragment's rows are. */
  lengths(snapshot: Snapshot, file: FragmentIndex): Promise<PartHeader>;
  /** The rows of a fragment that have a token; undefined for none. */
  postings(snapshot: Snapshot, file: FragmentIndex, token: string): Promise<Postings | undefined>;
  /** Visits the tokens of a fragment from one on; those of each part are in order. */
  visitTokens(
    snapshot: Snapshot,
    file: FragmentIndex,
    from: string,
    visitor: TokenVisitor,
  ): Promise<void>;
  /** The deleted rows of a fragment, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /** Rows of a fragment batch by batch. @param rows Positions in its files, ascending, none of them deleted. */
  rows(snapshot: Snapshot, fragment: Fragment, rows: Uint32Array): Promise<Candidates>;
}

/** Searches get what a reader reads. */
export function textSource(reader: TextReader, facts: RowFacts): TextSource {
  return {
    lengths: ({ folder }, { path }) => reader.lengths(folder, path),
    postings: ({ folder }, { path }, token) => reader.postings(folder, path, token),
    visitTokens: ({ folder }, { path }, ...asked) => reader.visitTokens(folder, path, ...asked),
    deletions: (...asked) => facts.deletions(...asked),
    rows: async (snapshot, fragment, rows) => {
      const deleted = await facts.deletions(snapshot, fragment);
      return candidatesOf(rows, true, deleted, await facts.starts(snapshot, fragment));
    },
  };
}
