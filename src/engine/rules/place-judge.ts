import type { Storage } from '../../storage/storage.ts';
import { join } from 'node:path';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { CommitAction, TableState } from '../../rules/commit-facts.ts';
import { rowCountOf, versionChange } from '../../rules/table-change.ts';
import type { Check } from '../../store/store.ts';
import type { TableRecord } from '../format/records.ts';
import { lanceFolders } from '../format/lance/lance-folders.ts';
import { readManifestFile } from '../format/lance/manifest-file.ts';
import { locationOf } from '../versions/managed/managed-versions.ts';
import { MAIN_CHAIN, type Chain } from '../format/chain.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { Tables } from '../versions/tables.ts';
import { headCheck } from '../versions/lines/version-store.ts';
import type { Commit, CommitJudge } from './commit-judge.ts';
import { engineState } from './engine-state.ts';
import { lanceState } from './lance-state.ts';

/** A table and its path. */
export interface JudgedTable {
  readonly path: ObjectPath;
  readonly record: TableRecord;
}

type TableReads = Pick<Tables, 'snapshot' | 'storage' | 'version'>;

/** Judges operations without a version: on tags, branches and old versions. @throws RuleRefusal */
export async function judgeAside(
  rules: CommitJudge,
  { path, record }: JudgedTable,
  action: CommitAction,
  about: Pick<Commit, 'tag' | 'branch'> = {},
): Promise<void> {
  const removes = action === 'delete_versions' || action === 'expire';
  const operation = removes ? 'BatchDeleteTableVersions' : undefined;
  const what = { table: path, action, keeper: keeperOf(record), change: null, ...about };
  await rules.judge(operation === undefined ? what : { ...what, operation });
}

/** Judges the removal of a table from the catalog. @throws RuleRefusal */
export async function judgeLeaving(
  rules: CommitJudge,
  tables: TableReads,
  { path, record }: JudgedTable,
  action: 'drop' | 'deregister' | 'overwrite',
): Promise<void> {
  if (!rules.covers(path)) return;
  const rows = action === 'deregister' ? 0n : await rowsIn(tables, record);
  const removal = { rowsBefore: rows, rowsRemoved: rows };
  await rules.judge({
    table: path,
    ...leaving[action],
    action,
    keeper: keeperOf(record),
    change: null,
    removal,
  });
}

const leaving = {
  drop: { operation: 'DropTable' },
  deregister: { operation: 'DeregisterTable' },
  // Another table takes the name.
  overwrite: { classes: new Set(['drop', 'DropTable'] as const) },
} as const;

/** A table with an unreadable manifest can be dropped too. */
async function rowsIn(tables: TableReads, record: TableRecord): Promise<bigint> {
  if (record.kind === 'declared') return 0n;
  return stateOf(tables, record, MAIN_CHAIN).then(
    ({ state }) => rowCountOf(state),
    () => 0n,
  );
}

/** Judges the declaration of a table without data. @throws RuleRefusal */
export async function judgePlacing(
  rules: CommitJudge,
  path: ObjectPath,
  location: string,
): Promise<void> {
  const keeper = 'elsewhere';
  const operation = 'DeclareTable';
  await rules.judge({ table: path, operation, action: 'declare', keeper, change: null, location });
}

/**
 * Judges a rename by the rules of the old path, and the table as a new one by those that apply only
 * to the new path.
 * @returns Checks that the judged state is unchanged.
 * @throws RuleRefusal
 */
export async function judgeRename(
  rules: CommitJudge,
  tables: TableReads & Pick<Tables, 'folder' | 'chains'>,
  { path, record }: JudgedTable,
  target: ObjectPath,
): Promise<readonly Check[]> {
  await rules.judge({
    table: path,
    action: 'rename',
    keeper: keeperOf(record),
    change: null,
    target,
  });
  if (!rules.covers(target)) return [];
  const entering = {
    table: target,
    action: 'rename',
    keeper: keeperOf(record),
    unless: path,
    classes: new Set(['create', 'CreateTable'] as const),
    location: record.kind === 'engine' ? tables.folder(record) : locationOf(record),
  } as const;
  if (record.kind === 'declared') {
    await rules.judge({ ...entering, change: null });
    return [];
  }
  const checks: Check[] = [];
  for (const chain of await tables.chains(record)) {
    const { state, snapshot, head } = await stateOf(tables, record, chain);
    checks.push(headCheck(record.id, head, chain.key), ...chain.checks);
    await rules.judge({
      ...entering,
      branch: chain.branch,
      change: versionChange(null, state, 'apart'),
      ...(snapshot !== undefined && { snapshot }),
    });
  }
  return checks;
}

function keeperOf({ kind }: TableRecord): 'here' | 'elsewhere' {
  return kind === 'engine' ? 'here' : 'elsewhere';
}

interface StateNow {
  readonly state: TableState;
  /** The version, if its rows can be read. */
  readonly snapshot?: Snapshot;
  readonly head: Awaited<ReturnType<Tables['version']>>;
}

async function stateOf(tables: TableReads, record: TableRecord, chain: Chain): Promise<StateNow> {
  const head = await tables.version(record, undefined, chain);
  const { version, manifest } = head.content;
  if (record.kind === 'engine') {
    const snapshot = await tables.snapshot(record, version, chain);
    return { state: engineState(snapshot), snapshot, head };
  }
  return { state: await lanceStateIn(tables.storage, locationOf(record), manifest), head };
}

async function lanceStateIn(
  storage: Storage,
  location: string,
  manifest: string,
): Promise<TableState> {
  const file = join(location, manifest);
  const { manifest: read } = await readManifestFile(storage, file);
  return lanceState(read, await lanceFolders(storage, file, read));
}
