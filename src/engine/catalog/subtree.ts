import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Check, Store } from '../../store/store.ts';
import { children, type Child } from './records/children.ts';
import { namespacesOf, prefixRange, tablesOf } from './records/keys.ts';
import { unchanged } from './records/reader.ts';
import { decodeTable } from './records/records-codec.ts';
import type { TableRecord } from '../format/records.ts';

/** A namespace below another. */
interface InnerNamespace {
  readonly path: ObjectPath;
  readonly key: string;
}

/** A table below a namespace. */
export interface InnerTable {
  readonly path: ObjectPath;
  readonly key: string;
  readonly record: TableRecord;
}

/** Everything below a namespace, and the checks that it is all unchanged and nothing came to it. */
export interface Subtree {
  readonly namespaces: readonly InnerNamespace[];
  readonly tables: readonly InnerTable[];
  readonly checks: readonly Check[];
}

/** Reads everything below a namespace. */
export async function readSubtree(store: Store, path: ObjectPath): Promise<Subtree> {
  const namespaces: InnerNamespace[] = [];
  const tables: InnerTable[] = [];
  const checks: Check[] = [];
  const waiting = [path];
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    for (const child of await allChildren(store, namespacesOf(parent), checks)) {
      const inner = { path: [...parent, child.name], key: child.key };
      namespaces.push(inner);
      waiting.push(inner.path);
    }
    for (const child of await allChildren(store, tablesOf(parent), checks)) {
      const inner = [...parent, child.name];
      tables.push({ path: inner, key: child.key, record: decodeTable(child.value) });
    }
  }
  return { namespaces, tables, checks };
}

/** The children below a key prefix. Each must stay as it is, and there must not be more of them. */
async function allChildren(
  store: Store,
  prefix: string,
  checks: Check[],
): Promise<readonly Child[]> {
  const found: Child[] = [];
  for await (const child of children(store, prefix)) found.push(child);
  checks.push({ kind: 'count', ...prefixRange(prefix), count: found.length });
  for (const child of found) checks.push(unchanged(child));
  return found;
}
