import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import type { Flushes } from '../../../storage/flushes.ts';
import type { Check, Write } from '../../../store/store.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { Seal } from '../../catalog/records/seal.ts';
import type { JudgeVersion } from '../../format/version-codec.ts';
import type { Chain } from '../../format/chain.ts';
import type { Contents, ContentsChange } from '../../format/change.ts';
import type { Manifest } from '../../format/manifest.ts';
import { firstFile, type Fragment } from '../../format/snapshot.ts';

/** Result of a commit: the version, and its base. */
export interface Committed {
  /** Id of the table. */
  readonly table: string;
  readonly record: VersionRecord;
  readonly base: Manifest | undefined;
  readonly manifest: Manifest;
  /** Path of the list of fragments that was written for it, in the table's folder. */
  readonly list?: string | undefined;
}

/** The first version of a table that nothing refers to yet. */
export interface Founding {
  readonly table: TableRecord;
  readonly contents: Contents;
  /** Commits the version, given what else must hold and is written. */
  readonly commit: (
    ...step: readonly [readonly Check[], readonly Write[], Committed]
  ) => Promise<void>;
  /** Removes the files, once the commit was refused. */
  readonly remove: () => Promise<void>;
  readonly flushes?: Flushes | undefined;
}

/** A commit of a table's next version. */
export interface VersionCommit {
  readonly table: Stored<TableRecord>;
  /** The line that gets the version; the main one unless it is given. */
  readonly chain?: Chain;
  readonly change: ContentsChange;
  /** Flushes of the files that the version names; the version exists after them. */
  readonly flushes?: Flushes;
  /** Reads the table's record again. */
  readonly current: () => Promise<Stored<TableRecord>>;
  /** Further checks of the same commit; called before each attempt. */
  readonly checks?: () => Promise<readonly Check[]>;
  /** Further writes of the same commit, given the table's record. */
  readonly writes?: (table: Stored<TableRecord>) => readonly Write[];
  readonly seal?: Seal<Committed> | undefined;
  /** Called before each attempt, once the version is computed. */
  readonly judge?: JudgeVersion | undefined;
}

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
