import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Handler } from '../handler.ts';

/**
 * CreateTableVersion. The versions of a table that this engine writes come from
 * its own operations alone (contract section 8).
 */
export function createVersion(catalog: Pick<Catalog, 'requireTable'>): Handler {
  return async (call) => {
    const { object } = call.request;
    const { content } = await catalog.requireTable(object);
    if (content.kind !== 'engine') {
      throw new CatalogError('Unsupported', 'CreateTableVersion is not built yet');
    }
    throw new CatalogError(
      'InvalidTableState',
      `table ${canonicalPath(object)} is written by this service: its versions come from insert, update and the other operations on its rows, not from a client's manifest`,
    );
  };
}
