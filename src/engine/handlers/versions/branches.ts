import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, HandlerTable } from '../call/handler.ts';
import { countField, textField } from '../../base/fields.ts';
import { isPaginated, pageParameters } from '../call/parameters.ts';
import { removeBranch } from '../../versions/branch-removal.ts';
import type { BranchOrigin, NamedBranch } from '../../versions/lines/branches.ts';
import { MAIN } from '../../format/chain.ts';
import type { TableRecord } from '../../format/records.ts';
import { judgeAside } from '../../rules/place-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { requireUnneeded, withRefs } from '../../versions/managed/managed-branches.ts';
import { adoptedBranches } from '../call/adopted-table.ts';
import { requireWrittenTable } from '../call/table-parts.ts';
import { engineTable, knownTable, writtenTable, type TagParts } from './tags.ts';
import { itemAt } from '../../base/items.ts';

/** The operations on branches. */
export function branchHandlers(parts: TagParts): HandlerTable {
  return {
    CreateTableBranch: (call) => createBranch(parts, call),
    ListTableBranches: (call) => listBranches(parts, call),
    DeleteTableBranch: (call) => deleteBranch(parts, call),
  };
}

/** A manifest is the first thing of a branch, and only its client writes one (wire contract, section 10.8). */
const BY_ITS_CLIENT = 'a branch begins when one of them commits to it';

/** The branch that a request makes, and the version that it begins with: the newest if undefined. */
interface NewBranch {
  readonly name: string;
  readonly from: string;
  readonly version: bigint | undefined;
}

/** @throws CatalogError PermissionDenied. */
export function permittedBranch(call: Call): NewBranch {
  const { object, operation } = call.request;
  const name = textField(call.body, 'name') ?? '';
  const from = sourceOf(call);
  // Rights may differ from branch to branch: neither is named by the route.
  for (const branch of [name, from]) call.permit.require(operation.name, object, branch);
  // Readers of the new branch see the rows of its parent.
  if (call.permit.holds('QueryTable', object, name)) {
    call.permit.require('QueryTable', object, from);
  }
  return { name, from, version: countField(call.body, 'from_version') ?? undefined };
}

/** CreateTableBranch: from a version of a branch, of main unless one is named; from its newest unless one is. */
async function createBranch(parts: TagParts, call: Call): Promise<Answer> {
  const { branches, tables } = parts;
  const { object } = call.request;
  const { name, from, version } = permittedBranch(call);
  const origin = async (table: TableRecord): Promise<BranchOrigin> => {
    const chain = await tables.chain(table, from);
    const number = version ?? (await tables.version(table, undefined, chain)).content.version;
    // By number, so that concurrent writers do not interfere.
    return { chain, version: await tables.version(table, number, chain) };
  };
  const table = knownTable(async () => {
    const found = await engineTable(parts, call, BY_ITS_CLIENT);
    const placed = { path: object, record: found.content };
    await judgeAside(call.rules, placed, 'create_branch', { branch: name });
    return found;
  });
  const answer = () => branched(call, 'create_branch', table.id(), name);
  await branches.create({
    storage: tables.storage,
    name,
    table: table.read,
    origin,
    folder: (record) => tables.folder(record),
    seal: call.once.seal(answer),
  });
  return answer();
}

function sourceOf(call: Call): string {
  const name = textField(call.body, 'from_branch');
  return name === null || name === '' ? MAIN : name;
}

function branched(call: Call, kind: string, table: string | null, branch: string): Answer {
  return jsonAnswer(call, {}, { commit: placeSummary(kind, table), branch });
}

/** DeleteTableBranch. */
async function deleteBranch(parts: TagParts, call: Call): Promise<Answer> {
  const { branches, tables, tags } = parts;
  const { object, operation } = call.request;
  const name = textField(call.body, 'name') ?? '';
  call.permit.require(operation.name, object, name);
  const table = knownTable(async () => {
    const found = await writtenTable(parts, call);
    await tables.finishBranchRemovals(found.content);
    if (found.content.kind === 'lance') await requireUnneeded(tables.storage, found.content, name);
    const placed = { path: object, record: found.content };
    await judgeAside(call.rules, placed, 'delete_branch', { branch: name });
    return found;
  });
  const answer = () => branched(call, 'delete_branch', table.id(), name);
  const seal = call.once.seal(answer);
  await tables.removing((await table.read()).content, (removal) =>
    removeBranch({ ...removal, branches, tags }, { name, table: table.read, seal }),
  );
  return answer();
}

/** ListTableBranches. The LanceDB client takes what it gets for all there is. */
async function listBranches(parts: TagParts, call: Call): Promise<Answer> {
  const { branches, pageLimit } = parts;
  const page = pageParameters(call, pageLimit);
  const found = await adoptedBranches(
    parts.tables.storage,
    call,
    await parts.catalog.requireTable(call.request.object),
  );
  const table = found.content;
  requireWrittenTable(call.request.object, table);
  await parts.tables.finishBranchRemovals(table);
  const { id } = table;
  const isLeft = async (name: string) => {
    const newest = { limit: 1, descending: true };
    const chain = await parts.tables.chain(table, name);
    return (await parts.tables.versions(table, newest, chain)).length > 0;
  };
  if (call.request.dialect === 'lancedb' && !isPaginated(call)) {
    const all = await withRefs(
      parts.tables.storage,
      table,
      (await branches.all(id)).branches,
      isLeft,
    );
    return jsonAnswer(call, { branches: entriesOf(all) });
  }
  const read = await branches.page(id, page.after, page.limit + 1);
  const shown = read.slice(0, page.limit);
  const token = read.length > shown.length ? shown.at(-1)?.name : undefined;
  return jsonAnswer(call, {
    branches: entriesOf(await withRefs(parts.tables.storage, table, shown, isLeft)),
    page_token: token,
  });
}

/** A branch as clients read it (Lance's `BranchContents`): what it came from, nothing for main, and when, in seconds. */
function entriesOf(branches: readonly NamedBranch[]): object {
  return Object.fromEntries(
    branches.map(({ name, branch: { lineage, createdMillis, manifestBytes } }) => {
      const { branch, version } = itemAt(lineage, 0);
      return [
        name,
        {
          ...(branch !== MAIN && { parentBranch: branch }),
          parentVersion: version,
          createAt: Math.floor(createdMillis / 1000),
          manifestSize: manifestBytes,
          metadata: {},
        },
      ];
    }),
  );
}
