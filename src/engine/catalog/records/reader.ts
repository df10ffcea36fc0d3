import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Check, ReadCheck, Store } from '../../../store/store.ts';
import { DecodedRecords } from './decoded-records.ts';
import { namespaceKey, tableKey } from './keys.ts';
import { decodeNamespace, decodeTable } from './records-codec.ts';
import type { NamespaceRecord, Stored, TableRecord } from '../../format/records.ts';
import { namespaceNotFound } from './refusals.ts';
import type { Committer } from './commit-loop.ts';

/** The records of a name: both kinds, read at one moment. */
export interface Named {
  readonly namespace: Stored<NamespaceRecord> | undefined;
  readonly table: Stored<TableRecord> | undefined;
}

/** Reads the records of namespaces and tables. The root has no record. */
export class RecordReader {
  readonly #store: Store;
  readonly #namespaces = new DecodedRecords(decodeNamespace);
  readonly #tables = new DecodedRecords(decodeTable);

  constructor(store: Store) {
    this.#store = store;
  }

  async namespace(path: ObjectPath): Promise<Stored<NamespaceRecord> | undefined> {
    return (await this.named(path)).namespace;
  }

  async table(path: ObjectPath): Promise<Stored<TableRecord> | undefined> {
    return (await this.named(path)).table;
  }

  /** The record at a path, of a namespace or a table. */
  async named(path: ObjectPath): Promise<Named> {
    if (path.length === 0) return { namespace: undefined, table: undefined };
    const keys = [namespaceKey(path), tableKey(path)] as const;
    const [namespace, table] = await this.#store.getMany(keys);
    return {
      namespace: namespace && this.#namespaces.of(keys[0], namespace),
      table: table && this.#tables.of(keys[1], table),
    };
  }

  /**
   * The checks that a path's parent is still there when something is made in it.
   * @throws CatalogError NamespaceNotFound when it is not there now.
   */
  async parentChecks(path: ObjectPath): Promise<readonly Check[]> {
    const parent = path.slice(0, -1);
    if (parent.length === 0) return [];
    const record = await this.namespace(parent);
    if (record === undefined) throw namespaceNotFound(parent);
    return [unchanged(record)];
  }
}

/** The check that a record is still what was read. */
export function unchanged(record: { readonly key: string; readonly value: Uint8Array }): ReadCheck {
  return { kind: 'value', key: record.key, value: record.value };
}

/** The check that nothing has a key. */
export function absent(key: string): ReadCheck {
  return { kind: 'value', key, value: null };
}

/** Dependencies of catalog changes. */
export interface CatalogParts {
  readonly store: Store;
  readonly reader: RecordReader;
  readonly committer: Committer;
}
