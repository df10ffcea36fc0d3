import { CatalogError } from '../../protocol/errors.ts';

/** The refusal of a version that a table does not have; of the newest one without a number. */
export function versionNotFound(version?: bigint): CatalogError {
  const which = version === undefined ? 'no version' : `no version ${version}`;
  return new CatalogError('TableVersionNotFound', `the table has ${which}`);
}

/** The refusal of a change to a table whose name another has got meanwhile. */
export function tableReplaced(): CatalogError {
  return new CatalogError('ConcurrentModification', 'another table has taken the name meanwhile');
}
