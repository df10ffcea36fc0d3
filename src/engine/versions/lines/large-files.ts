import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { firstFile, type Fragment } from '../../format/snapshot.ts';
import type { Committed } from './version-commits.ts';

/** Least size of a large data file, in bytes: to open it costs little beside the writing of it. */
const LARGE_BYTES = 16 * 2 ** 20;
/** Number of fragments of a version that are looked at. New ones are the last. */
const MOST_NEW = 4;

/** Called with a large data file of a new version. */
export type OnLargeFile = (stored: StoredFile) => void;

/** The large data files that a version adds to the one that it was made from, up to four. */
export function newLargeFiles(
  folder: string,
  { base, manifest: { fragments } }: Pick<Committed, 'base' | 'manifest'>,
): readonly StoredFile[] {
  const first = Math.max(0, fragments.length - MOST_NEW);
  return fragments
    .slice(first)
    .filter((each, at) => isLarge(each) && each.files[0] !== base?.fragments[first + at]?.files[0])
    .map((each) => firstFile(folder, each));
}

function isLarge({ files: [first] }: Fragment): boolean {
  return first !== undefined && first.bytes >= LARGE_BYTES;
}
