import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import { emptyAnswer, jsonAnswer } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Call, HandlerTable } from '../call/handler.ts';
import { branchParameter, pageParameters } from '../call/parameters.ts';
import type { Chain } from '../../format/chain.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import { indexFileOf, withoutIndex } from '../../index/keys/index-upkeep.ts';
import { storedIn, type IndexDefinition, type Snapshot } from '../../format/snapshot.ts';
import { isVectorIndex, vectorDetails } from '../../index/vectors/vector-kind.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import { commitSummary } from '../../once/commit-summary.ts';
import { readPlace, type TableView } from '../call/read-place.ts';
import { requireEngineTable } from '../call/table-parts.ts';

/** Parts of operations that describe indices. */
interface IndexParts {
  readonly catalog: Catalog;
  readonly tables: TableView;
  readonly tags: Tags;
  /** The most entries that a listing answers at once. */
  readonly pageLimit: number;
  /** Called with the newest version of a table whose indices are requested. */
  readonly attend: Attend;
}

export type Attend = (
  line: { readonly table: Stored<TableRecord>; readonly chain: Chain },
  snapshot: Snapshot,
) => void;

/** Parts of operations that change indices or read their files. */
interface IndexFileParts {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly reader: FragmentReader;
}

/** The operations that describe indices. */
export function indexHandlers(parts: IndexParts): HandlerTable {
  return {
    ListTableIndices: (call) => listIndices(parts, call),
    DescribeTableIndexStats: (call) => indexStats(parts, call),
  };
}

/** The operations on existing indices. */
export function indexFileHandlers(parts: IndexFileParts): HandlerTable {
  return {
    DropTableIndex: (call) => dropIndex(parts, call),
    PrewarmTableIndex: (call) => prewarm(parts, call),
  };
}

async function listIndices(parts: IndexParts, call: Call): Promise<Answer> {
  const { content } = await parts.catalog.requireTable(call.request.object);
  if (content.kind === 'declared') return declaredList(parts, content, call);
  const snapshot = await snapshotOf(parts, call);
  const { limit, after } = pageParameters(call, parts.pageLimit);
  const names = (one: IndexDefinition, other: IndexDefinition) => (one.name < other.name ? -1 : 1);
  const all = (snapshot.indices ?? []).toSorted(names).filter(({ name }) => name > after);
  const shown = all.slice(0, limit);
  return jsonAnswer(call, {
    indexes: shown.map((index) => contentOf(index, snapshot)),
    page_token: all.length > limit ? shown.at(-1)?.name : undefined,
  });
}

/** A declared table has no version and no index. */
async function declaredList(
  { tables, tags }: IndexParts,
  table: TableRecord,
  call: Call,
): Promise<Answer> {
  const { branch, version } = await readPlace(tags, table, call);
  const chain = await tables.chain(table, branch);
  if (version !== undefined) await tables.snapshot(table, version, chain);
  return jsonAnswer(call, { indexes: [] });
}

function contentOf(index: IndexDefinition, snapshot: Snapshot): object {
  const { indexed, left, files, bytes } = coverageOf(index, snapshot);
  const column = snapshot.schema.fields[snapshot.fieldIds.indexOf(index.field)];
  return {
    index_name: index.name,
    index_uuid: index.uuid,
    columns: [column?.name ?? ''],
    status: left === 0n ? 'done' : 'indexing',
    index_type: index.type,
    num_indexed_rows: indexed,
    num_unindexed_rows: left,
    size_bytes: bytes,
    num_segments: files,
    created_at: new Date(index.createdMillis).toISOString(),
    index_version: 1,
    index_details: JSON.stringify(
      isVectorIndex(index) && column !== undefined
        ? vectorDetails(index, column.type, snapshot.fragments)
        : (index.text ?? { type: index.type }),
    ),
  };
}

interface Coverage {
  readonly indexed: bigint;
  readonly left: bigint;
  readonly files: number;
  readonly bytes: number;
}

/** Deleted rows do not count. */
function coverageOf(index: IndexDefinition, { fragments, rows }: Snapshot): Coverage {
  let [indexed, files, bytes] = [0n, 0, 0];
  for (const fragment of fragments) {
    const file = indexFileOf(fragment, index);
    if (file === undefined) continue;
    indexed += BigInt(fragment.rows);
    files += 1;
    bytes += file.bytes;
  }
  return { indexed, left: rows - indexed, files, bytes };
}

async function indexStats(parts: IndexParts, call: Call): Promise<Answer> {
  const snapshot = await snapshotOf(parts, call);
  const index = requireIndex(snapshot, call);
  const { indexed, left } = coverageOf(index, snapshot);
  return jsonAnswer(call, {
    num_indexed_rows: indexed,
    num_unindexed_rows: left,
    index_type: index.type,
    distance_type: index.distance ?? null,
    num_indices: 1,
  });
}

/** Earlier versions keep the index, and its files stay as long as they exist. */
async function dropIndex({ catalog, tables }: IndexFileParts, call: Call): Promise<Answer> {
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  requireEngineTable(object, table.content);
  const chain = await tables.chain(table.content, branchParameter(call));
  const answer = (committed: Parameters<typeof commitSummary>[1]): Answer =>
    jsonAnswer(call, {}, { commit: commitSummary('drop_index', committed) });
  const committed = await tables.commit({
    table,
    chain,
    current: () => catalog.requireTable(object),
    change: (base) => withoutIndex(base, requireIndex(base, call).name),
    seal: call.once.seal(answer),
  });
  return answer(committed);
}

async function prewarm(parts: IndexFileParts, call: Call): Promise<Answer> {
  const { catalog, tables, reader } = parts;
  const { object } = call.request;
  const { content } = await catalog.requireTable(object);
  requireEngineTable(object, content);
  const chain = await tables.chain(content, branchParameter(call));
  const snapshot = await tables.snapshot(content, undefined, chain);
  const index = requireIndex(snapshot, call);
  for (const fragment of snapshot.fragments) {
    const file = indexFileOf(fragment, index);
    if (file !== undefined) await reader.prewarm(storedIn(snapshot.folder, file));
  }
  return emptyAnswer(call);
}

/** The version of a request. */
async function snapshotOf(parts: IndexParts, call: Call): Promise<Snapshot> {
  const { catalog, tables, tags } = parts;
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  requireEngineTable(object, table.content);
  const { branch, version } = await readPlace(tags, table.content, call);
  const chain = await tables.chain(table.content, branch);
  const snapshot = await tables.snapshot(table.content, version, chain);
  if (version === undefined) parts.attend({ table, chain }, snapshot);
  return snapshot;
}

function requireIndex({ indices = [] }: Pick<Snapshot, 'indices'>, call: Call): IndexDefinition {
  const { indexName = '' } = call.request;
  const index = indices.find(({ name }) => name === indexName);
  if (index !== undefined) return index;
  throw indexNotFound(call);
}

export function indexNotFound({ request: { object, indexName = '' } }: Call): CatalogError {
  return new CatalogError(
    'TableIndexNotFound',
    `table ${canonicalPath(object)} has no index ${JSON.stringify(indexName)}`,
  );
}
