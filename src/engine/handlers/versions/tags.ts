import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer, restOn } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { JudgeTable } from '../../catalog/records/seal.ts';
import type { Stored, TableRecord, TagRecord } from '../../format/records.ts';
import type { Call, Handler, HandlerTable } from '../call/handler.ts';
import { branchParameter, isPaginated, pageParameters } from '../call/parameters.ts';
import { countField, textField } from '../../base/fields.ts';
import { judgeAside } from '../../rules/place-judge.ts';
import type { Branches } from '../../versions/lines/branches.ts';
import { MAIN } from '../../format/chain.ts';
import type { Tables } from '../../versions/tables.ts';
import type { TagChange, TagMove } from '../../versions/lines/tag-change.ts';
import { areAll, type NamedTag, type Tags } from '../../versions/lines/tags.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { protectedTags } from '../call/read-place.ts';
import { requireEngineTable, requireWrittenTable } from '../call/table-parts.ts';

/** Parts of the operations on tags. */
export interface TagParts {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly tags: Tags;
  readonly branches: Branches;
  /** The most entries that a listing answers at once. */
  readonly pageLimit: number;
}

/** The operations on single tags. */
export function tagHandlers(parts: TagParts): HandlerTable {
  const { tags } = parts;
  return {
    GetTableTagVersion: tagVersion(parts),
    CreateTableTag: async (call) => {
      const { change, answer } = tagging(parts, call, 'create_tag');
      await tags.create({ ...change, ...targetOf(parts, call) });
      return answer();
    },
    UpdateTableTag: async (call) => {
      const { change, answer } = tagging(parts, call, 'update_tag');
      const permitted = (tag: TagRecord) => requireTagBranch(call, tag, branchParameter(call));
      await tags.update({ ...change, ...targetOf(parts, call), permitted });
      return answer();
    },
    DeleteTableTag: async (call) => {
      const { change, answer } = tagging(parts, call, 'delete_tag');
      const permitted = (tag: TagRecord) => requireTagBranch(call, tag);
      await tags.remove({ ...change, permitted });
      return answer();
    },
  };
}

/** GetTableTagVersion. */
export function tagVersion({
  catalog,
  tags,
}: Pick<TagParts, 'tags'> & { readonly catalog: Pick<Catalog, 'requireTable'> }): Handler {
  return async (call) => {
    const table = (await writtenTable({ catalog }, call)).content;
    const tag = await tags.require(table, nameOf(call), protectedTags(call));
    requireTagBranch(call, tag);
    const { version, branch } = tag;
    return jsonAnswer(call, { version, branch: branch ?? undefined });
  };
}

/**
 * Asks for the operation on the branch that a tag is on, unless that branch was asked for already.
 * @throws CatalogError PermissionDenied.
 */
function requireTagBranch({ request, permit }: Call, tag: TagRecord, requested?: string): void {
  const branch = tag.branch ?? MAIN;
  if (branch !== requested) permit.require(request.operation.name, request.object, branch);
}

type TagAction = 'create_tag' | 'update_tag' | 'delete_tag';

/** Changes a tag and answers. */
function tagging(
  parts: TagParts,
  call: Call,
  action: TagAction,
): { readonly change: TagChange; readonly answer: () => Answer } {
  const table = knownTable(() => writtenTable(parts, call));
  const answer = () => jsonAnswer(call, {}, { commit: placeSummary(action, table.id()) });
  const judge = judgeOf(call, action);
  const isProtected = protectedTags(call);
  const seal = call.once.seal(answer);
  const change = { name: nameOf(call), table: table.read, judge, seal, isProtected };
  return { change, answer };
}

/** Reads a table before each attempt of a change, with its id as last read; null before. */
export function knownTable(find: () => Promise<Stored<TableRecord>>): {
  readonly read: () => Promise<Stored<TableRecord>>;
  readonly id: () => string | null;
} {
  let id: string | null = null;
  const read = async () => {
    const found = await find();
    ({ id } = found.content);
    return found;
  };
  return { read, id: () => id };
}

function targetOf(parts: TagParts, call: Call): Pick<TagMove, 'chain' | 'version'> {
  const version = countField(call.body, 'version') ?? undefined;
  return {
    chain: (table) => parts.tables.chain(table, branchParameter(call)),
    version: (table, chain) => parts.tables.version(table, version, chain),
  };
}

function judgeOf(call: Call, action: TagAction): JudgeTable {
  const path = call.request.object;
  return (record) => judgeAside(call.rules, { path, record }, action, { tag: nameOf(call) });
}

function nameOf(call: Call): string {
  return textField(call.body, 'tag') ?? '';
}

/** @throws CatalogError TableNotFound, InvalidTableState for a table without data. */
export async function writtenTable(
  { catalog }: { readonly catalog: Pick<Catalog, 'requireTable'> },
  call: Call,
): Promise<Stored<TableRecord>> {
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  requireWrittenTable(object, table.content);
  return table;
}

/** @throws CatalogError TableNotFound, and why the table's rows are not here. */
export async function engineTable(
  { catalog }: { readonly catalog: Pick<Catalog, 'requireTable'> },
  call: Call,
  instead?: string,
): Promise<Stored<TableRecord>> {
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  requireEngineTable(object, table.content, instead);
  return table;
}

/** Parts of the listing of tags. */
interface TagListing {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly tags: Tags;
  /** The most entries that a listing answers at once. */
  readonly pageLimit: number;
}

/**
 * ListTableTags. The LanceDB client reads the map itself and takes it for all
 * there is, others a member of the answer (wire contract, section 9).
 */
export async function listTags(parts: TagListing, call: Call): Promise<Answer> {
  const { dialect } = call.request;
  const page = pageParameters(call, parts.pageLimit);
  const { object } = call.request;
  const table = await parts.catalog.requireTable(object);
  const { content } = table;
  requireWrittenTable(object, content);
  const isProtected = protectedTags(call);
  // Lance clients change tags in the folders of their tables.
  const rests = content.kind === 'engine';
  if (dialect === 'lancedb' && !isPaginated(call)) {
    const all = await parts.tags.all(content, isProtected);
    if (rests) restOn(call, table, all);
    return jsonAnswer(call, entriesOf(all.tags));
  }
  const found = await parts.tags.page(content, page.after, page.limit + 1, isProtected);
  const shown = found.slice(0, page.limit);
  const isAll = page.after === '' && found.length === shown.length;
  if (isAll && rests) restOn(call, table, { checks: areAll(content.id, shown) });
  if (dialect === 'lancedb') return jsonAnswer(call, entriesOf(shown));
  const token = found.length > shown.length ? shown.at(-1)?.name : undefined;
  return jsonAnswer(call, { tags: entriesOf(shown), page_token: token });
}

function entriesOf(tags: readonly NamedTag[]): object {
  return Object.fromEntries(
    tags.map(({ name, tag: { branch, version, manifestBytes } }) => [
      name,
      { ...(branch !== null && { branch }), version, manifestSize: manifestBytes },
    ]),
  );
}
