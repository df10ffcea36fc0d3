import { CatalogError } from '../protocol/errors.ts';

/** What the system says when a disk, a quota or a limit of file sizes has no room left, or takes no writes at all. */
const CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS']);

/** Whether something failed because the disk takes no more, itself or what caused it. */
export function isFullDisk(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && CODES.has(String(error.code))) || isFullDisk(error.cause);
}

/** What callers are told then: that it is not their fault, and may pass. */
export function fullDisk(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the disk of the catalog takes no more writes');
}
