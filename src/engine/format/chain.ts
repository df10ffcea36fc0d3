import type { ReadCheck } from '../../store/store.ts';

/** Name of a table's first line of versions in requests. */
export const MAIN = 'main';

/** A line of versions from which another line was branched. */
export interface Ancestor {
  readonly branch: string;
  readonly key: string;
  /** The last version that both lines share. */
  readonly version: bigint;
}

/** A line of versions of a table: the main one or a branch. */
export interface Chain {
  /** Its name: `main`, or the branch's. */
  readonly branch: string;
  /**
   * Key of the line's records and manifests: `main`, or the branch's id. A branch created again
   * under an old name has a new id.
   */
  readonly key: string;
  /**
   * The lines it was branched from, nearest first. Versions up to the shared one belong to the
   * ancestor.
   */
  readonly lineage: readonly Ancestor[];
  /** Checks that the line still exists. */
  readonly checks: readonly ReadCheck[];
}

export const MAIN_CHAIN: Chain = { branch: MAIN, key: MAIN, lineage: [], checks: [] };

/** The key of the line on which a version was made. */
export function ownerOf({ key, lineage }: Pick<Chain, 'key' | 'lineage'>, version: bigint): string {
  let owner = key;
  for (const ancestor of lineage) {
    if (version > ancestor.version) break;
    owner = ancestor.key;
  }
  return owner;
}

/** A range of versions of one line: greater than `after`, at most `upTo` (no bound if null). */
export interface Span {
  readonly key: string;
  readonly after: bigint;
  readonly upTo: bigint | null;
}

/** The versions of a line as ranges of the lines on which they were made, newest first. */
export function chainSpans({ key, lineage }: Chain): readonly Span[] {
  const spans: Span[] = [];
  let owner = key;
  let upTo: bigint | null = null;
  for (const ancestor of lineage) {
    spans.push({ key: owner, after: ancestor.version, upTo });
    owner = ancestor.key;
    upTo = upTo === null || ancestor.version < upTo ? ancestor.version : upTo;
  }
  spans.push({ key: owner, after: 0n, upTo });
  return spans.filter((span) => span.upTo === null || span.after < span.upTo);
}
