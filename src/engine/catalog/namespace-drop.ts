import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { Permit } from '../../protocol/permit.ts';
import type { Check, Write } from '../../store/store.ts';
import { commitLoop, type Plan } from './records/commit-loop.ts';
import { droppedKey } from './records/keys.ts';
import { emptyChecks } from './namespace-create.ts';
import { unchanged, type CatalogParts } from './records/reader.ts';
import { encodeDropped } from './records/records-codec.ts';
import type { NamespaceRecord, Stored, TableRecord } from '../format/records.ts';
import { namespaceNotFound } from './records/refusals.ts';
import type { Seal } from './records/seal.ts';
import { readSubtree, type InnerTable, type Subtree } from './subtree.ts';

/** Options of a drop. */
export interface DropOptions {
  /** Nothing happens when the namespace is not there. */
  readonly skip: boolean;
  /** Everything in it goes too; otherwise it must be empty. */
  readonly cascade: boolean;
  /** Judges the drop of each table that goes with it. @throws CatalogError */
  readonly judge?: (table: InnerTable) => Promise<void>;
}

export interface DroppedNamespace {
  readonly record: NamespaceRecord;
  /** The contents that were dropped with it. */
  readonly objects: readonly ObjectPath[];
}

interface Removal {
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
  readonly objects: readonly ObjectPath[];
}

/** Drops a namespace in one commit: all of it or nothing. Answers nothing when it was not there and may be missing. */
export async function dropNamespace(
  parts: CatalogParts,
  path: ObjectPath,
  options: DropOptions,
  permit: Permit,
  seal?: Seal<DroppedNamespace | undefined>,
): Promise<DroppedNamespace | undefined> {
  let last: DroppedNamespace | undefined;
  return commitLoop<DroppedNamespace | undefined>(
    { committer: parts.committer, seal },
    async (uncertain) => {
      const namespace = await parts.reader.namespace(path);
      if (uncertain && namespace?.content.id !== last?.record.id)
        return { kind: 'done', result: last };
      if (namespace === undefined) return missing(path, options.skip);
      const removal = options.cascade
        ? await removeAll(parts, path, namespace, { permit, judge: options.judge })
        : await removeEmpty(parts, path, namespace);
      last = { record: namespace.content, objects: removal.objects };
      return { kind: 'commit', checks: removal.checks, writes: removal.writes, result: last };
    },
  );
}

function missing(path: ObjectPath, skip: boolean): Plan<undefined> {
  if (!skip) throw namespaceNotFound(path);
  return { kind: 'done', result: undefined };
}

async function removeEmpty(
  parts: CatalogParts,
  path: ObjectPath,
  namespace: Stored<NamespaceRecord>,
): Promise<Removal> {
  const checks = await emptyChecks(parts.store, path, namespace);
  return { checks, writes: [{ key: namespace.key, value: null }], objects: [] };
}

async function removeAll(
  parts: CatalogParts,
  path: ObjectPath,
  namespace: Stored<NamespaceRecord>,
  { permit, judge }: { readonly permit: Permit; readonly judge: DropOptions['judge'] },
): Promise<Removal> {
  const subtree = await readSubtree(parts.store, path);
  requireAll(path, subtree, permit);
  for (const table of subtree.tables) await judge?.(table);
  const droppedMillis = Date.now();
  const writes = [
    { key: namespace.key, value: null },
    ...subtree.namespaces.map(({ key }) => ({ key, value: null })),
    ...subtree.tables.flatMap((table) => tableRemoval(table, droppedMillis)),
  ];
  const objects = [...subtree.namespaces, ...subtree.tables].map((inner) => inner.path);
  return { checks: [unchanged(namespace), ...subtree.checks], writes, objects };
}

/** The writes that take a table out of the catalog and remember it. */
export function tableRemoval(
  table: { readonly path: ObjectPath; readonly key: string; readonly record: TableRecord },
  droppedMillis: number,
): readonly Write[] {
  const { path, key, record } = table;
  return [
    { key, value: null },
    { key: droppedKey(record.id), value: encodeDropped({ path, record, droppedMillis }) },
  ];
}

function requireAll(path: ObjectPath, subtree: Subtree, permit: Permit): void {
  for (const inner of subtree.namespaces)
    requireDrop(path, 'DropNamespace', inner.path, 'namespace', permit);
  for (const inner of subtree.tables) requireDrop(path, 'DropTable', inner.path, 'table', permit);
}

/** Requires the right to one drop. The refusal names nothing that the caller cannot see. */
function requireDrop(
  path: ObjectPath,
  action: OperationName,
  inner: ObjectPath,
  kind: 'namespace' | 'table',
  permit: Permit,
): void {
  if (permit.sees(inner, kind)) return permit.require(action, inner);
  if (permit.holds(action, inner)) return;
  try {
    // Required once more, so that the audit log names the refused object.
    permit.require(action, inner);
  } catch (error) {
    if (!(error instanceof CatalogError) || error.row.name !== 'PermissionDenied') throw error;
    throw new CatalogError(
      'PermissionDenied',
      `namespace ${canonicalPath(path)} holds something that the caller may not drop`,
    );
  }
}
