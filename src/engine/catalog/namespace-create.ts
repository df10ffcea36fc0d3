import { randomUUID } from 'node:crypto';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Check, Store } from '../../store/store.ts';
import { hasChildren } from './records/children.ts';
import { commitLoop, type Plan } from './records/commit-loop.ts';
import { namespaceKey, namespacesOf, prefixRange, tableKey, tablesOf } from './records/keys.ts';
import { absent, unchanged, type CatalogParts, type Named } from './records/reader.ts';
import { encodeNamespace } from './records/records-codec.ts';
import type { NamespaceRecord, Stored } from '../format/records.ts';
import {
  checkCreatable,
  namespaceExists,
  namespaceNotEmpty,
  takenByTable,
} from './records/refusals.ts';
import type { Seal } from './records/seal.ts';

/** What to do when the namespace is there already. */
export type CreateMode = 'create' | 'exist_ok' | 'overwrite';

/** Makes a namespace, or replaces an empty one; answers the one that is there then. */
export async function createNamespace(
  parts: CatalogParts,
  path: ObjectPath,
  mode: CreateMode,
  properties: Readonly<Record<string, string>>,
  seal?: Seal<NamespaceRecord>,
): Promise<NamespaceRecord> {
  const record = { id: randomUUID(), properties, createdMillis: Date.now() };
  checkCreatable(path);
  return commitLoop({ committer: parts.committer, seal }, async () => {
    const named = await parts.reader.named(path);
    const settled = settledBy(path, named.namespace?.content, record, mode);
    if (settled !== undefined) return { kind: 'done', result: settled };
    const checks = await placeChecks(parts, path, named);
    return creation(path, record, checks);
  });
}

function creation(
  path: ObjectPath,
  record: NamespaceRecord,
  checks: readonly Check[],
): Plan<NamespaceRecord> {
  const writes = [{ key: namespaceKey(path), value: encodeNamespace(record) }];
  return { kind: 'commit', checks, writes, result: record };
}

/** The namespace that needs no commit: one that may stay, or ours from an attempt of unknown outcome. */
function settledBy(
  path: ObjectPath,
  existing: NamespaceRecord | undefined,
  record: NamespaceRecord,
  mode: CreateMode,
): NamespaceRecord | undefined {
  if (existing === undefined || existing.id === record.id || mode === 'exist_ok') return existing;
  if (mode === 'create') throw namespaceExists(path);
  return undefined;
}

async function placeChecks(
  parts: CatalogParts,
  path: ObjectPath,
  named: Named,
): Promise<readonly Check[]> {
  if (named.table !== undefined) throw takenByTable(path);
  if (named.namespace !== undefined) return emptyChecks(parts.store, path, named.namespace);
  const parent = await parts.reader.parentChecks(path);
  return [absent(namespaceKey(path)), absent(tableKey(path)), ...parent];
}

/**
 * The checks that a namespace is unchanged and holds nothing.
 * @throws CatalogError NamespaceNotEmpty when it holds something now.
 */
export async function emptyChecks(
  store: Store,
  path: ObjectPath,
  namespace: Stored<NamespaceRecord>,
): Promise<readonly Check[]> {
  const prefixes = [namespacesOf(path), tablesOf(path)];
  for (const prefix of prefixes) {
    if (await hasChildren(store, prefix)) throw namespaceNotEmpty(path);
  }
  const none = prefixes.map((prefix): Check => ({
    kind: 'count',
    ...prefixRange(prefix),
    count: 0,
  }));
  return [unchanged(namespace), ...none];
}
