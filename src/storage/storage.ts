/**
 * Bytes under keys. A key is `/` and names with `/` between them; no name is empty, `.` or `..`,
 * and none holds a NUL. A folder is the key that the keys of its objects begin with.
 *
 * Every method throws InvalidKey for a key of another form, and the storage's error with a `code`
 * otherwise: `isMissing`, `isTaken` and `isFullDisk` say what it means. `LinkedPath` is thrown
 * where a key leads through a symbolic link and the method may not follow one.
 */
export interface Storage {
  /**
   * Opens an object for reading, as it is now.
   * @param links Which links may be followed; none when absent.
   * @throws an error that `isMissing` where there is none.
   */
  open(key: string, links?: Links): OpenObject | Promise<OpenObject>;
  /** All bytes of an object. @throws as `open`. */
  read(key: string, links?: Links): Promise<Buffer>;
  /** Describes an object; undefined if there is none. A link itself is described. */
  stat(key: string): ObjectStat | undefined | Promise<ObjectStat | undefined>;
  /**
   * A text that changes whenever the bytes under a key do; undefined where there are none.
   * Device, inode, size and times of a file; the entity tag of an object store.
   */
  stamp(key: string): string | undefined | Promise<string | undefined>;
  /**
   * What is under a name in a folder: nothing, an object of its own, or something that is reached
   * through a link. Costs no more than a look where no link is on the way.
   */
  ownership(folder: string, name: string): Promise<Ownership>;
  /**
   * The key with every symbolic link resolved.
   * @throws an error that `isMissing` for a key that leads nowhere, where the storage has folders.
   */
  resolve(key: string): Promise<string>;

  /**
   * Names right below a folder, in no order; undefined where there is no folder. Links are
   * followed. An object store has no folders: it answers an empty list.
   */
  names(folder: string): Promise<readonly string[] | undefined>;
  /** The entries right below a folder, in no order; none where there is no folder. */
  entries(folder: string): AsyncIterable<StorageEntry>;
  /** Everything below a folder, in no order but that a folder follows its content. */
  tree(folder: string): AsyncIterable<StorageEntry>;

  /**
   * Begins a new object, of a name that nobody else uses, in a folder that exists.
   * @throws an error that `isTaken` where there is one; a storage may find that out at the end.
   */
  create(key: string, options?: CreateOptions): NewObject;
  /**
   * Makes an object without a lasting name.
   * @param key A free name, which it may have for a moment.
   * @throws an error that `isTaken` where the name is needed and taken.
   */
  temporary(key: string): TemporaryObject;
  /** Bytes that are free for new objects in a folder; infinite where nothing is known. */
  freeBytes(folder: string): Promise<number>;
  /**
   * Writes an object whole, under a name that nobody else uses. It and its name are durable
   * when this resolves, and gone when it rejects. A crash may leave a part of it.
   */
  write(key: string, bytes: Uint8Array, links?: Links): Promise<void>;
  /**
   * Writes an object whole unless the name is taken: decides races. Nobody sees a part of it.
   * When this resolves, the object of that name is durable, even if another writer made it.
   * @param mode Of a file; the umask decides when absent.
   */
  putIfAbsent(key: string, bytes: Uint8Array, mode?: number): Promise<Placed>;
  /** Writes an object in place of the old one, if any: readers see one or the other. Durable when it resolves. */
  replace(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Writes a small object in place of the old one, if any, and does not wait until it is durable:
   * after a crash of the machine its bytes may be lost. Its temporary name is the key with `.new`.
   */
  note(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Gives an object a second name unless that is taken: decides races. An object of that name is
   * durable when this resolves, even if another writer made it, provided that the first one is.
   */
  linkIfAbsent(from: string, to: string): Promise<Placed>;
  /**
   * Gives an object another name unless that is taken. Only one process at a time may give this
   * name. A crash leaves the object under one name or both; `flush` settles it.
   */
  renameIfAbsent(from: string, to: string): Placed | Promise<Placed>;
  /**
   * Gives an object another name, in place of any other object of that name: readers see one or
   * the other. `flush` makes it durable.
   */
  rename(from: string, to: string): void | Promise<void>;
  /**
   * Copies an object to a name that is free. Durable when this resolves, but for its name.
   * @param shared Whether both may share their bytes: then neither is ever changed.
   */
  copy(from: string, to: string, shared: boolean): Promise<Copied>;

  /** Removes an object, or a link as such; one that is missing counts for nothing. */
  remove(key: string, dryRun?: boolean): Promise<Freed>;
  /** Removes a file or a link in a folder that is known to be reached through no link; does nothing where there is none. */
  discard(key: string): void | Promise<void>;
  /** Removes everything below a folder, and the folder. @throws KeptFolder before one of the kept is touched. */
  removeTree(folder: string, options: RemoveOptions): Promise<Freed>;

  /**
   * After this the names right below a folder are durable: those that were made, and the absence
   * of those that were removed. Many changes share one call. Resolves at once where each change is durable by itself.
   */
  flush(folder: string): Promise<void>;

  /** Folders, where the storage has them: an object store has none, and its callers go on without. */
  readonly folders: Folders | undefined;
  /** Files that others can open, where the storage has them. */
  readonly files: Files | undefined;
  /** Uploads in parts, where the storage has them. */
  readonly uploads?: Uploads;
}

/** Uploads in parts: a writer that was killed leaves parts that no listing shows. */
export interface Uploads {
  /**
   * Removes the parts of uploads that were not completed.
   * @param isOld Whether an upload is to be removed, by when it began, in milliseconds since 1970.
   * @returns Number of removed uploads, or of those that a dry run would remove.
   */
  abandon(isOld: (begunMillis: number) => boolean, dryRun: boolean): Promise<number>;
}

/**
 * Which symbolic links an operation may follow: none on the whole path; those before the last name,
 * where the caller has checked the folder; or all, for folders that the configuration names.
 * A storage without links minds none of it.
 */
export type Links = 'none' | 'folders' | 'all';

/** What is under a name: nothing, an object of the folder, or the target of a link. */
export type Ownership = 'absent' | 'own' | 'linked';

/** Whether an object got its name, or another one had it. */
export type Placed = 'created' | 'exists';

/** An object that is open for reading. */
export interface OpenObject {
  /** Its bytes now. */
  size(): number;
  /** The same; undefined for what is no object that can be read from end to end, such as a pipe. */
  plainSize(): number | undefined;
  /**
   * Fills memory with bytes from a position on, as many as it holds or as there are.
   * @returns How many.
   * @throws an error with the code ESTALE if another object has the name and the old bytes are gone.
   */
  read(into: Uint8Array, position: number): Promise<number>;
  /** The same at once; undefined where the bytes are many or far away. */
  readNow(into: Uint8Array, position: number): number | undefined;
  /** Whether the object was removed: it takes its place until it is closed. False where nothing is known. */
  isRemoved(): boolean;
  /** Makes bytes durable that another program wrote. */
  sync(): Promise<void>;
  /** May only be called when no read is in progress. Does nothing the second time. */
  close(): void;
}

export interface CreateOptions {
  /** Mode of a file, less the umask; 0666 when absent. */
  readonly mode?: number;
  /** Which links on the way may be followed; none when absent. */
  readonly links?: Links;
}

/** A new object that is written from start to end. */
export interface NewObject {
  /**
   * Adds bytes. Their memory must stay as it is until the next call returns.
   * @throws the storage's error, perhaps that of the write before.
   */
  write(pieces: readonly Uint8Array[]): Promise<void>;
  /** Waits until the storage has taken all bytes. */
  end(): Promise<void>;
  /** Makes the bytes durable and closes, also when it rejects. `Storage.flush` makes the name durable. */
  sync(): Promise<void>;
  /** Closes an unneeded object; `Storage.remove` removes its name. Does not throw. */
  abandon(): Promise<void>;
}

/**
 * An object for bytes that one piece of work needs for a while: written from start to end, then read. Its
 * place is free again when it is closed, or when its process ends in any way.
 */
export interface TemporaryObject {
  /** As `NewObject.write`. */
  write(pieces: readonly Uint8Array[]): Promise<void>;
  /** Ends the writing; the object can be read until `close`. */
  written(): Promise<OpenObject>;
  /** Frees its place, in any state. Does not throw. */
  close(): Promise<void>;
}

/** Description of an object. */
export interface ObjectStat {
  readonly isFile: boolean;
  readonly isFolder: boolean;
  readonly isLink: boolean;
  readonly bytes: number;
  /** When its bytes were written last, in milliseconds since 1970. */
  readonly writtenMillis: number;
  /** When it was last written or got or lost a name, in milliseconds since 1970. */
  readonly changedMillis: number;
}

/** An entry of a folder. */
export interface StorageEntry {
  /** Its key. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly isLink: boolean;
  /** 0 for a folder. */
  readonly bytes: number;
  /** When it was written last, in milliseconds since 1970. */
  readonly writtenMillis: number;
}

/** Number and size of what was removed, or would be. */
export interface Freed {
  readonly files: number;
  readonly bytes: number;
}

export const NOTHING: Freed = { files: 0, bytes: 0 };

export function plus(left: Freed, right: Freed): Freed {
  return { files: left.files + right.files, bytes: left.bytes + right.bytes };
}

export interface RemoveOptions {
  /** Removes nothing, and answers what would be removed. */
  readonly dryRun?: boolean;
  /** Folders that are neither removed nor emptied, wherever they are met. */
  readonly retained: readonly string[];
}

/** Result of a copy. */
export interface Copied {
  /** Whether both names share the same bytes. */
  readonly linked: boolean;
  /** Bytes that the copy takes of its own. */
  readonly bytes: number;
}

/** Folders of a disk: a file needs one, and one can be made, be empty or be moved. */
export interface Folders {
  /**
   * Makes a folder and those above it, where they are missing. Their names are durable when this resolves.
   * @param mode Of each folder that is made, whatever the umask; the umask decides when absent.
   */
  make(folder: string, mode?: number): Promise<void>;
  /** The same at once; the names are durable after a `flush` of the folders above. */
  makeNow(folder: string): void;
  /**
   * Makes a folder at once in one that exists.
   * @returns Resolves when its name is durable; undefined where that is known.
   */
  prepare(folder: string): Promise<void> | undefined;
  /** Removes a folder if it is empty and no link leads to it. Does not throw. */
  removeIfEmpty(folder: string): Promise<void>;
  /** Gives a folder another name, which must be free. */
  move(from: string, to: string): Promise<void>;
}

/** Files of a disk under the keys of the storage. */
export interface Files {
  /** The path of a key, for what reads or appends to files itself: logs of lines, databases, native code. */
  pathOf(key: string): string;
}
