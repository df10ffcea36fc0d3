import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, checkNewPath, type ObjectPath } from '../../../protocol/identifier.ts';

/** The namespace in which the service answers for its own tables. */
const RESERVED = 'system';

export function namespaceNotFound(path: ObjectPath): CatalogError {
  return new CatalogError('NamespaceNotFound', `namespace ${canonicalPath(path)} does not exist`);
}

export function namespaceExists(path: ObjectPath): CatalogError {
  return new CatalogError(
    'NamespaceAlreadyExists',
    `namespace ${canonicalPath(path)} already exists`,
  );
}

export function namespaceNotEmpty(path: ObjectPath): CatalogError {
  return new CatalogError('NamespaceNotEmpty', `namespace ${canonicalPath(path)} is not empty`);
}

export function tableNotFound(path: ObjectPath): CatalogError {
  return new CatalogError('TableNotFound', `table ${canonicalPath(path)} does not exist`);
}

/** The words `already exists` are what the LanceDB client looks for (wire contract, section 4). */
export function tableAlreadyExists(path: ObjectPath): CatalogError {
  return new CatalogError('TableAlreadyExists', `table ${canonicalPath(path)} already exists`);
}

/** A namespace may not take a table's name: they share their paths. */
export function takenByTable(path: ObjectPath): CatalogError {
  return new CatalogError(
    'TableAlreadyExists',
    `the name ${canonicalPath(path)} is taken by a table`,
  );
}

/** A table may not take a namespace's name: they share their paths. */
export function takenByNamespace(path: ObjectPath): CatalogError {
  return new CatalogError(
    'NamespaceAlreadyExists',
    `the name ${canonicalPath(path)} is taken by a namespace`,
  );
}

export function changedMeanwhile(path: ObjectPath): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `${canonicalPath(path)} was changed by someone else meanwhile`,
  );
}

/** Refuses a path at which nothing may be created: a bad name, or one inside `system`. */
export function checkCreatable(path: ObjectPath): void {
  checkNewPath(path);
  if (path[0] === RESERVED) {
    throw new CatalogError(
      'InvalidInput',
      `the namespace "${RESERVED}" is reserved: nothing is created in it`,
    );
  }
}

/** Refuses to drop the namespace `system`. */
export function checkDroppable(path: ObjectPath): void {
  if (path.length === 1 && path[0] === RESERVED) {
    throw new CatalogError(
      'InvalidInput',
      `the namespace "${RESERVED}" is reserved: it cannot be dropped`,
    );
  }
}
