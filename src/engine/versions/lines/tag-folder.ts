import type { TableRecord, TagRecord } from '../../format/records.ts';

/** Tags in the folder of a Lance table, where Lance clients read, make, move and remove them. */
export interface TagFolder {
  all(location: string): Promise<readonly FolderTag[]>;
  find(location: string, name: string): Promise<TagRecord | undefined>;
  /** Writes the file of a tag, on stable storage. */
  write(location: string, name: string, tag: TagRecord): Promise<void>;
  remove(location: string, name: string): Promise<void>;
}

export interface FolderTag {
  readonly name: string;
  readonly tag: TagRecord;
}

/** A table, as far as its tags depend on it. */
export type TaggedTable = Pick<TableRecord, 'id' | 'kind' | 'location'>;

/** Whether a commit rule protects a tag: then the catalog's record counts, whatever the folder says. */
export type IsProtected = (name: string) => boolean;

export const notProtected: IsProtected = () => false;

/** What a tag of a Lance table is, by its record and by its file. */
export function taggedVersion(
  record: TagRecord | undefined,
  file: TagRecord | undefined,
  isProtected: boolean,
): TagRecord | undefined {
  if (record === undefined || record.pending === 'removal') return file;
  if (isProtected || record.pending === 'write') return record;
  const isSame =
    file !== undefined && file.version === record.version && file.branch === record.branch;
  return isSame ? record : file;
}
