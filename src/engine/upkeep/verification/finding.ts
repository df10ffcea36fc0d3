/** What is not as the catalog says. */
export type FindingKind = 'manifest' | 'file' | 'head' | 'tag' | 'location' | 'journal';

/** One thing that is not as it should be. */
export interface Finding {
  readonly kind: FindingKind;
  /** Canonical path of the table, where it is about one. */
  readonly table: string | null;
  /** Path in the table's folder, or name of a journal file. */
  readonly file: string | null;
  /** What is wrong, in words that continue after the file's name. */
  readonly fault: string;
}

/** What a failure says of itself. */
export function findingOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
