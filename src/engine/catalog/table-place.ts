import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Check, Write } from '../../store/store.ts';
import { commitLoop } from './records/commit-loop.ts';
import { droppedKey, namespaceKey, tableKey } from './records/keys.ts';
import type { Seal } from './records/seal.ts';
import { absent, unchanged, type CatalogParts } from './records/reader.ts';
import { encodeDropped, encodeTable } from './records/records-codec.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import {
  changedMeanwhile,
  checkCreatable,
  takenByNamespace,
  tableAlreadyExists,
} from './records/refusals.ts';

/** A place where a table can be: what is there now, and the checks that it is still so. */
interface TablePlace {
  readonly existing: Stored<TableRecord> | undefined;
  readonly checks: readonly Check[];
}

/**
 * The place of a table that is about to be made.
 * @throws CatalogError when no table can be there: a bad or reserved name, a
 * namespace of that name, a parent that does not exist.
 */
export async function tablePlace(parts: CatalogParts, path: ObjectPath): Promise<TablePlace> {
  checkTablePath(path);
  const named = await parts.reader.named(path);
  if (named.namespace !== undefined) throw takenByNamespace(path);
  const existing = named.table;
  const own = existing === undefined ? absent(tableKey(path)) : unchanged(existing);
  const parent = await parts.reader.parentChecks(path);
  return { existing, checks: [own, absent(namespaceKey(path)), ...parent] };
}

function checkTablePath(path: ObjectPath): void {
  if (path.length === 0) throw new CatalogError('InvalidInput', 'the root cannot be a table');
  checkCreatable(path);
}

/** A table's record and the writes that must take effect with it. */
interface TableCommit {
  readonly record: TableRecord;
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
  /** The table that the new one replaces; without it there must be none. */
  readonly replace: Stored<TableRecord> | undefined;
  readonly seal?: Seal<null> | undefined;
}

/**
 * Makes a table exist, in one commit with the given writes. A table that is
 * replaced by one of another id counts as dropped.
 * @throws CatalogError TableAlreadyExists, ConcurrentModification when the
 * replaced table or something of the given checks changed, and those of `tablePlace`.
 */
export async function commitTable(
  parts: CatalogParts,
  path: ObjectPath,
  commit: TableCommit,
): Promise<void> {
  const value = encodeTable(commit.record);
  await commitLoop({ committer: parts.committer, seal: commit.seal }, async (uncertain) => {
    const { existing, checks } = await tablePlace(parts, path);
    if (uncertain && isMade(existing, commit, value)) return { kind: 'done', result: null };
    checkReplaced(path, existing, commit.replace);
    return {
      kind: 'commit',
      checks: [...checks, ...commit.checks],
      writes: [
        { key: tableKey(path), value },
        ...replacedTableWrites(path, commit),
        ...commit.writes,
      ],
      result: null,
      lost: (check) => {
        if (check >= checks.length) throw changedMeanwhile(path);
      },
    };
  });
}

/** Whether the commit took effect. A record that takes the place of its own older self is known by its content. */
function isMade(
  existing: Stored<TableRecord> | undefined,
  { record, replace }: TableCommit,
  value: Uint8Array,
): boolean {
  if (existing?.content.id !== record.id) return false;
  return replace?.content.id !== record.id || Buffer.from(existing.value).equals(value);
}

function checkReplaced(
  path: ObjectPath,
  existing: Stored<TableRecord> | undefined,
  replace: Stored<TableRecord> | undefined,
): void {
  if (replace === undefined) {
    if (existing !== undefined) throw tableAlreadyExists(path);
  } else if (existing === undefined || !Buffer.from(existing.value).equals(replace.value)) {
    throw changedMeanwhile(path);
  }
}

/** Writes that keep a replaced table restorable. */
function replacedTableWrites(path: ObjectPath, { record, replace }: TableCommit): readonly Write[] {
  if (replace === undefined || replace.content.id === record.id) return [];
  const dropped = { path, record: replace.content, droppedMillis: Date.now() };
  return [{ key: droppedKey(replace.content.id), value: encodeDropped(dropped) }];
}
