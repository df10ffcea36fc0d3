import { CatalogError } from '../../protocol/errors.ts';
import { isObjectKey } from '../../storage/object-key.ts';
import type { TableGateway, TableRecord } from '../format/records.ts';

/** This gateway, and whether tables may be made whose files it alone has. */
export interface LocalOptions {
  readonly gateway: TableGateway;
  readonly allowed: boolean;
}

/**
 * Tables whose files lie in a folder of one gateway, in a catalog whose gateways share no folder. Their
 * records name this gateway.
 */
export class LocalTables {
  readonly #gateway: TableGateway | undefined;
  readonly #allowed: boolean;

  /** @param options Absent where all gateways of the catalog share their folders. */
  constructor({ gateway, allowed }: Partial<LocalOptions> = {}) {
    this.#gateway = gateway;
    this.#allowed = allowed === true;
  }

  /**
   * The record of a new table, with the gateway that has its files.
   * @throws CatalogError InvalidInput for a table in a folder where such tables are not allowed.
   */
  claimed(record: TableRecord): TableRecord {
    const gateway = this.#gateway;
    if (gateway === undefined || !isLocal(record)) return record;
    this.require(record.location);
    return { ...record, gateway };
  }

  /** @throws CatalogError Internal for a new record that was not claimed. */
  requireClaimed(record: TableRecord): void {
    if (this.#gateway === undefined || !isLocal(record) || record.gateway !== undefined) return;
    throw new CatalogError('Internal', `the table ${record.id} does not say where its files are`);
  }

  /** The refusal of `claimed`, before rows are read. @param location That of the new table. */
  require(location: string | null): void {
    if (this.#gateway === undefined || this.#allowed || !isLocal({ location })) return;
    throw new CatalogError(
      'InvalidInput',
      'the gateways of this catalog share no folder, and the files of the new table would lie in a folder of one of them: ' +
        'make a Lance table in an object store, or set tables.local: true',
    );
  }

  /** Whether the files of a table can be reached from here. */
  isHere({ gateway }: Pick<TableRecord, 'gateway'>): boolean {
    return this.#gateway === undefined || gateway === undefined || gateway.id === this.#gateway.id;
  }

  /** @throws CatalogError ServiceUnavailable that names the gateway which has the files. */
  requireHere(record: Pick<TableRecord, 'gateway'>): void {
    if (this.isHere(record)) return;
    throw new CatalogError(
      'ServiceUnavailable',
      `the files of the table lie in a folder of the gateway ${record.gateway?.name}: send the request there`,
    );
  }
}

function isLocal({ location }: Pick<TableRecord, 'location'>): boolean {
  return location === null || !isObjectKey(location);
}
