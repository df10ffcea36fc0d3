import { CatalogError } from '../../protocol/errors.ts';

/**
 * The error for a version that a table does not have; for its newest version if no number is given.
 */
export function versionNotFound(version?: bigint): CatalogError {
  const which = version === undefined ? 'no version' : `no version ${version}`;
  return new CatalogError('TableVersionNotFound', `the table has ${which}`);
}

/** The error for a change to a table whose name now belongs to another table. */
export function tableReplaced(): CatalogError {
  return new CatalogError('ConcurrentModification', 'another table has taken the name meanwhile');
}
