/** Codes of the errors of a storage: those of the operating system, where it has one for the same thing. */
type StorageErrorCode =
  | 'ENOENT'
  | 'EEXIST'
  | 'EINVAL'
  | 'EISDIR'
  | 'ENOTDIR'
  | 'ENOSPC'
  | 'ESTALE'
  /** Two keys that do not lie in the same storage. */
  | 'EXDEV';

/** An error of a storage that is no file system. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string) {
    super(`${code}: ${message}`);
    this.name = 'StorageError';
    this.code = code;
  }
}

/** A file is missing that has to be there. */
export class MissingFile extends StorageError {
  /** Absolute path. */
  readonly path: string;

  constructor(path: string) {
    super('ENOENT', `${path} is missing: restore the file from a backup`);
    this.path = path;
  }
}

/** A key that names no object: a mistake of the caller, or a name that came from outside. */
export class InvalidKey extends Error {
  constructor(key: string) {
    super(
      `${JSON.stringify(key)} is no key of a storage: "/" and names with "/" between them, none of them empty, "." or ".."`,
    );
    this.name = 'InvalidKey';
  }
}

/** Codes of a disk, a quota or a limit of file sizes that has no room left, and of a disk that takes no writes. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS']);

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/** Whether the error or one of its causes says that the storage is full. */
export function isFullDisk(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && FULL.has(String(error.code))) || isFullDisk(error.cause);
}

/** Codes of a process, or a system, that can open no more files. */
const NO_DESCRIPTORS = new Set(['EMFILE', 'ENFILE']);

/** Whether the error or one of its causes says that no more files can be opened. */
export function isOutOfDescriptors(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && NO_DESCRIPTORS.has(String(error.code))) return true;
  return isOutOfDescriptors(error.cause);
}

/** Whether an operation failed because there is nothing under its key. */
export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** Whether an operation failed because there can be nothing under its key: a part of it is no folder, or too long. */
export function isAbsent(error: unknown): boolean {
  return ABSENT.has(errorCode(error) ?? '');
}

/** Whether an operation failed because its name is taken. */
export function isTaken(error: unknown): boolean {
  return errorCode(error) === 'EEXIST';
}

/** The code of a storage's error; undefined for other errors. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** The result of an operation; undefined where there is nothing under its key. */
export async function unlessMissing<Found>(
  operation: Promise<Found> | Found,
): Promise<Found | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** An object store does not answer, fails, or is too busy. */
export class StorageUnavailable extends Error {
  /** When to try again, in seconds. */
  readonly retrySeconds: number;

  constructor(message: string, retrySeconds: number, cause?: unknown) {
    super(message, { cause });
    this.name = 'StorageUnavailable';
    this.retrySeconds = retrySeconds;
  }
}

/** Whether an error says that an object store cannot be used now: nothing is known of its objects. */
export function isOutage(error: unknown): error is StorageUnavailable | StorageRefused {
  return error instanceof StorageUnavailable || error instanceof StorageRefused;
}

/** An object store refuses the gateway, or cannot be used safely, until an operator acts. */
export class StorageRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StorageRefused';
  }
}
