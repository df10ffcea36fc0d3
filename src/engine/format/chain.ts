import type { ReadCheck } from '../../store/store.ts';

/** The line of versions that a table begins with, as requests call it. */
export const MAIN = 'main';

/** A line of versions that another came from. */
export interface Ancestor {
  readonly branch: string;
  readonly key: string;
  /** The last version that both have. */
  readonly version: bigint;
}

/** A line of versions of a table: the main one or a branch. */
export interface Chain {
  /** Its name: `main`, or the branch's. */
  readonly branch: string;
  /** What its records and manifests lie under: `main`, or the branch's id. A name that is used again gets another one. */
  readonly key: string;
  /** What it came from, the nearest first. Up to the version that both have, its versions are those of the other. */
  readonly lineage: readonly Ancestor[];
  /** That it is still there. */
  readonly checks: readonly ReadCheck[];
}

export const MAIN_CHAIN: Chain = { branch: MAIN, key: MAIN, lineage: [], checks: [] };

/** Where a version lies that a line of versions has: the key of the line that it was made on. */
export function ownerOf({ key, lineage }: Pick<Chain, 'key' | 'lineage'>, version: bigint): string {
  let owner = key;
  for (const ancestor of lineage) {
    if (version > ancestor.version) break;
    owner = ancestor.key;
  }
  return owner;
}

/** Versions of one line: beyond `after`, and up to and with `upTo` unless that is null. */
export interface Span {
  readonly key: string;
  readonly after: bigint;
  readonly upTo: bigint | null;
}

/** The versions of a line, by the lines that they were made on: the newest first. */
export function spansOf({ key, lineage }: Chain): readonly Span[] {
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
