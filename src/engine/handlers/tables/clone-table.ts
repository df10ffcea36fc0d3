import { randomUUID } from 'node:crypto';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { checkPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { TableRecord } from '../../format/records.ts';
import { tableAlreadyExists } from '../../catalog/records/refusals.ts';
import type { Call, Handler } from '../call/handler.ts';
import { countField, flagField, textField } from '../../base/fields.ts';
import { versionJudge } from '../../rules/version-judge.ts';
import { MAIN } from '../../format/chain.ts';
import { absolutePath } from '../../versions/lines/locations.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import type { Committed } from '../../versions/lines/version-commits.ts';
import { commitSummary } from '../../once/commit-summary.ts';
import { requireEngineTable } from '../call/table-parts.ts';
import { dirname, join } from 'node:path';
import { filesOf } from '../../catalog/records/version-walk.ts';
import { hasDetachedSeals } from '../../format/detached-seals.ts';
import { DETACHED_SEALS } from '../../format/layout.ts';
import { makeTableFolder } from '../../format/table-folder.ts';

interface CloneParts {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly tags: Tags;
}

interface Source {
  readonly path: ObjectPath;
  readonly record: TableRecord;
}

/**
 * CloneTable: a new table with the rows, columns and indices of another's version. A
 * shallow one shares the files on disk until one of both no longer needs them: each
 * has names of its own for them, so neither is touched by what becomes of the other.
 */
export function cloneTable(parts: CloneParts): Handler {
  return async (call) => {
    const { object } = call.request;
    const { catalog, tables } = parts;
    if ((await catalog.tablePlace(object)) !== undefined) throw tableAlreadyExists(object);
    const source = await sourceOf(parts, call);
    const snapshot = await snapshotOf(parts, call, source);
    const table = catalog.local.claimed(newTable());
    const isShallow = flagField(call.body, 'is_shallow', true);
    const folder = tables.folder(table);
    const remove = () => tables.removeFolder(table, []);
    await copyTableFiles(snapshot, folder, isShallow).catch(async (error: unknown) => {
      await remove();
      throw error;
    });
    const judge = versionJudge(call.rules, tables, { path: object, table, action: 'create' });
    const answer = (made: Committed) => cloned(call, made);
    const committed = await tables.founded({
      table,
      contents: contentsOf(snapshot),
      remove,
      commit: async (checks, writes, made) => {
        await judge?.(made);
        const seal = call.once.seal(() => answer(made));
        await catalog.createTableCommit(object, table, checks, writes, undefined, seal);
      },
    });
    return answer(committed);
  };
}

function newTable(): TableRecord {
  const createdMillis = Date.now();
  return {
    id: randomUUID(),
    kind: 'engine',
    location: null,
    properties: {},
    createdMillis,
    expires: true,
  };
}

function contentsOf(snapshot: Snapshot) {
  const { schema, fieldIds, nextFieldId, fragments, nextRowId, indices, lists } = snapshot;
  return { schema, fieldIds, nextFieldId, fragments, nextRowId, indices, lists };
}

function cloned(call: Call, committed: Committed): Answer {
  const { version } = committed.manifest;
  return jsonAnswer(call, { version }, { commit: commitSummary('clone', committed) });
}

/**
 * Finds the table in the body by location, if the caller may see it, or by name.
 * @throws CatalogError TableNotFound.
 */
async function sourceOf({ catalog, tables }: CloneParts, call: Call): Promise<Source> {
  const location = textField(call.body, 'source_location') ?? '';
  if (!/[/:]/.test(location)) return namedSource(catalog, call, location);
  const folder = absolutePath(location);
  const found = await catalog.findTable((record) => tables.folder(record) === folder, call.permit);
  if (found !== undefined) return found;
  throw new CatalogError('TableNotFound', `no table lies at ${JSON.stringify(location)}`);
}

/**
 * Resolves a table identifier. LanceDB clients send a bare name, which is relative to the namespace
 * of the new table.
 */
async function namedSource(catalog: Catalog, call: Call, name: string): Promise<Source> {
  const { object, delimiter } = call.request;
  const parts = name.split(delimiter);
  const path = parts.length > 1 ? parts : [...object.slice(0, -1), name];
  checkPath(path);
  if (!call.permit.holdsOnBranches('QueryTable', path)) {
    call.permit.require('QueryTable', path, MAIN);
  }
  return { path, record: (await catalog.requireTable(path)).content };
}

/** Resolves the source version by number or tag; the newest of main by default. */
async function snapshotOf(
  { tables, tags }: CloneParts,
  call: Call,
  { path, record }: Source,
): Promise<Snapshot> {
  const { permit, body } = call;
  const name = textField(body, 'source_tag');
  // A tag may be resolved by callers who may read some branch of the table.
  if (name === null || !permit.holdsOnBranches('QueryTable', path)) {
    permit.require('QueryTable', path, MAIN);
  }
  requireEngineTable(path, record, 'copy it at its location');
  const requested = countField(body, 'source_version') ?? undefined;
  const tag = name === null ? undefined : await tags.require(record, name);
  const branch = tag?.branch ?? MAIN;
  permit.require('QueryTable', path, branch);
  if (tag !== undefined && requested !== undefined && requested !== tag.version) {
    throw new CatalogError(
      'InvalidInput',
      `the tag ${JSON.stringify(name)} names version ${tag.version}, not version ${requested}`,
    );
  }
  const chain = await tables.chain(record, branch);
  return tables.snapshot(record, tag?.version ?? requested, chain);
}

/**
 * Creates the folder of a new table with the files of another table's version. Files and names are
 * durable when this returns.
 * @param shared Whether to share bytes by hard links where possible.
 */
async function copyTableFiles(
  from: Pick<Snapshot, 'storage' | 'folder' | 'fragments' | 'lists'>,
  folder: string,
  shared: boolean,
): Promise<void> {
  const { storage } = from;
  await makeTableFolder({ storage, folder });
  const files = filesOf(from);
  const folders = foldersOf(files);
  for (const inner of folders) storage.folders?.makeNow(join(folder, inner));
  for (const file of hasDetachedSeals(from) ? [...files, DETACHED_SEALS] : files)
    await storage.copy(join(from.folder, file), join(folder, file), shared);
  for (const inner of folders) await storage.flush(join(folder, inner));
  await storage.flush(folder);
}

/** Folders of some files and their parents, inner ones first. */
function foldersOf(files: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const file of files) {
    for (let inner = dirname(file); inner !== '.'; inner = dirname(inner)) folders.add(inner);
  }
  return [...folders].toSorted((one, other) => other.length - one.length);
}
