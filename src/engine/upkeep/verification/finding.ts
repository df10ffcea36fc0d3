import { relative, sep } from 'node:path';
import { damageOf, DamagedFile } from '../../../arrow/sealed/file-seal.ts';

/** Kind of a difference between the catalog and the disk. */
export type FindingKind = 'manifest' | 'file' | 'head' | 'tag' | 'location' | 'journal' | 'store';

/** One thing that is not as it should be. */
export interface Finding {
  readonly kind: FindingKind;
  /** Canonical path of the table, where it is about one. */
  readonly table: string | null;
  /** Path in the table's folder, or name of a journal file. */
  readonly file: string | null;
  /** The fault, as a continuation of the file's name. */
  readonly fault: string;
}

/** The file of a table that a failure is about, as its path in the table's folder. */
export function fileOf(folder: string, error: unknown): string | undefined {
  if (!(error instanceof Error) || !('path' in error) || typeof error.path !== 'string')
    return undefined;
  return error.path.startsWith(`${folder}${sep}`) ? relative(folder, error.path) : undefined;
}

/** The message of a failure. */
export function findingOf(error: unknown): string {
  if (error instanceof DamagedFile) return damageOf(error.part);
  return error instanceof Error ? error.message : String(error);
}
