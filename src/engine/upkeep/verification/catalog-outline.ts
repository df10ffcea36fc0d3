import type { Field } from 'apache-arrow';
import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { StoreEntry } from '../../../store/store.ts';
import { readState } from '../../catalog/journal/journal-state.ts';
import { headKey, pathOfKey } from '../../catalog/records/keys.ts';
import { decodeTable } from '../../catalog/records/records-codec.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import { MAIN } from '../../format/chain.ts';
import { decodeVersion } from '../../format/version-codec.ts';

/** A table of a catalog as its journal has it. */
interface OutlinedTable {
  readonly path: ObjectPath;
  /** Its columns on main; undefined where Lance clients write it, it has no data, or its manifest cannot be read. */
  readonly columns: () => Promise<readonly Field[] | undefined>;
}

/** Contents of a catalog. */
interface CatalogOutline {
  readonly namespaces: readonly ObjectPath[];
  readonly tables: readonly OutlinedTable[];
}

/**
 * Reads from the journal of a data folder what is in its catalog. Nothing is written and no store
 * is opened, so it may be done beside a running gateway. Undefined where there is no journal.
 */
export async function readOutline(
  storage: Storage,
  data: string,
): Promise<CatalogOutline | undefined> {
  const folder = join(data, 'catalog');
  if (!((await storage.stat(folder)) !== undefined)) return undefined;
  const state = await readState(storage, folder);
  const namespaces: ObjectPath[] = [];
  const entries: StoreEntry[] = [];
  const heads = new Map<string, Uint8Array>();
  for await (const entry of state.entries()) {
    if (entry.key.startsWith('N')) namespaces.push(pathOfKey(entry.key));
    if (entry.key.startsWith('T')) entries.push(entry);
    if (entry.key.startsWith('H')) heads.set(entry.key, entry.value);
  }
  return {
    namespaces,
    tables: entries.map((entry) => tableOf(storage, entry, heads, join(data, 'tables'))),
  };
}

function tableOf(
  storage: Storage,
  { key, value }: StoreEntry,
  heads: ReadonlyMap<string, Uint8Array>,
  root: string,
): OutlinedTable {
  const { id, kind } = decodeTable(value);
  const versions = new VersionReader(storage);
  const head = heads.get(headKey(id, MAIN));
  const columns = async () => {
    if (kind !== 'engine' || head === undefined) return undefined;
    const manifest = await versions
      .version(join(root, id), decodeVersion(head))
      .catch(() => undefined);
    return manifest?.schema.fields;
  };
  return { path: pathOfKey(key), columns };
}
