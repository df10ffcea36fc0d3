import { restrictionReasons } from '../../../protocol/restriction-reasons.ts';
import { isObjectKey, wireLocation } from '../../../storage/object-key.ts';
import { namedPath } from '../../../protocol/database.ts';
import { pathToFileURL } from 'node:url';
import type { Schema } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import { schemaToJson, type JsonSchema, type Vocabulary } from '../../../arrow/json-schema.ts';
import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer, restOn } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Call } from '../call/handler.ts';
import { adoptedTable } from '../call/adopted-table.ts';
import { branchParameter } from '../call/parameters.ts';
import { demandsCredentials, tableCredentials } from '../call/table-credentials.ts';
import type { VendingStores } from '../../../storage/vending/credential-vendor.ts';
import { notApplied } from '../call/restricted-calls.ts';
import { textOfRestrictions, type Restrictions } from '../../../protocol/restrictions.ts';
import { statementOf } from '../../base/statement.ts';
import { bindRestrictions } from '../../query/restrict/bound-restrictions.ts';
import { flagField } from '../../base/fields.ts';
import { lanceSnapshot } from '../../format/lance/snapshot.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import type { Chain } from '../../format/chain.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import { readPlace, type TableView } from '../call/read-place.ts';

/** Parts of a description beside the name and dialect. */
interface Described {
  readonly table: TableRecord;
  readonly snapshot: Snapshot;
  readonly withUri: boolean;
}

/** What a description is of. */
interface DescriptionOf {
  readonly table: TableRecord;
  readonly snapshot: Pick<Snapshot, 'version' | 'schema'>;
}

interface CachedDescription {
  readonly table: TableRecord;
  readonly name: string;
  readonly kind: string;
  readonly answer: Answer;
}

/**
 * Descriptions that were put in words before. A record and a snapshot never change,
 * and both are read for each request: as long as they are the same objects, so is
 * what is said of them. Of each snapshot the last description is kept, as long as it is itself.
 */
class DescriptionCache<Of extends DescriptionOf> {
  readonly #make: (call: Call, described: Of) => Answer;
  readonly #kindOf: (described: Of) => string;
  readonly #last = new WeakMap<Of['snapshot'], CachedDescription>();

  /** @param kindOf What the description depends on beside the table, its name and the client, as a text. */
  constructor(make: (call: Call, described: Of) => Answer, kindOf: (described: Of) => string) {
    this.#make = make;
    this.#kindOf = kindOf;
  }

  of(call: Call, described: Of): Answer {
    const { object, dialect, root = [] } = call.request;
    const { table, snapshot } = described;
    // Names contain no control characters.
    const name = `${root.length} ${object.join('\0')}`;
    const kind = `${dialect} ${this.#kindOf(described)}`;
    const last = this.#last.get(snapshot);
    if (last?.table === table && last.name === name && last.kind === kind) return last.answer;
    const answer = this.#make(call, described);
    this.#last.set(snapshot, { table, name, kind, answer });
    return answer;
  }
}

/**
 * DescribeTable. A table that has data always has `version` and `schema`: their
 * absence tells a client that it was only declared (wire contract, section 7.3).
 */
export async function describeTable(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  call: Call,
  vending?: VendingStores,
): Promise<Answer> {
  const demands = demandsCredentials(call);
  if (demands) requireCredentials(call);
  const withUri = flagField(call.body, 'with_table_uri', false);
  const found = await catalog.requireTable(call.request.object);
  const restrictions = call.permit.restrictionsOn(call.request.object);
  if (restrictions !== null) {
    return describeVisible({ tables, tags, found }, call, restrictions);
  }
  const { branch, version } = await readPlace(tags, found.content, call);
  const stored = await adoptedTable(call, found, branch);
  const table = stored.content;
  requireColumns(call, table);
  const chain = await tables.chain(table, branch);
  if (table.kind !== 'engine') {
    const described = await elsewhere(call, tables, table, { chain, version, withUri });
    const { answer, notes } = await tableCredentials(call, table, vending);
    return jsonAnswer(call, { ...described, ...answer }, notes);
  }
  const { snapshot, record } = await tables.found(table, version, chain);
  if (!demands) restOn(call, stored, chain, record);
  return said.of(call, { table, snapshot, withUri });
}

/**
 * LanceDB clients ask for the columns of an open table before they send rows for it. A declared one has none.
 * @throws CatalogError InvalidTableState
 */
function requireColumns({ body, request }: Call, { kind }: TableRecord): void {
  const isAsked = request.dialect === 'lancedb' && flagField(body, 'needs_columns', false);
  if (kind !== 'declared' || !isAsked) return;
  throw new CatalogError(
    'InvalidTableState',
    `table ${canonicalPath(request.object)} is declared and has no data: create it by create_table with its first rows and mode "overwrite"`,
  );
}

interface VisibleParts {
  readonly tables: TableView;
  readonly tags: Tags;
  readonly found: Stored<TableRecord>;
}

/**
 * The description for a caller whom restrictions bind: the columns that it sees, and nothing of where
 * the rows lie, how many there are, or what metadata says of them.
 */
async function describeVisible(
  { tables, tags, found }: VisibleParts,
  call: Call,
  restrictions: Restrictions,
): Promise<Answer> {
  const { request, permit } = call;
  if (found.content.kind === 'declared') {
    throw notApplied(request, permit, restrictions, restrictionReasons.rowsElsewhere());
  }
  if (flagField(call.body, 'with_table_uri', false)) {
    throw notApplied(request, permit, restrictions, restrictionReasons.location());
  }
  if (found.content.kind === 'lance' && demandsCredentials(call)) {
    throw notApplied(request, permit, restrictions, restrictionReasons.credentials());
  }
  const { branch, version } = await readPlace(tags, found.content, call);
  const stored = await adoptedTable(call, found, branch);
  const table = stored.content;
  const chain = await tables.chain(table, branch);
  if (table.kind !== 'engine') {
    const { content } = await tables.version(table, version, chain);
    const snapshot = await lanceSnapshot(
      tables.storage,
      locationOf(table),
      content,
      request.object,
    );
    return saidToBound.of(call, { table, snapshot, restrictions });
  }
  const { snapshot, record } = await tables.found(table, version, chain);
  if (!demandsCredentials(call)) restOn(call, stored, chain, record);
  return saidToBound.of(call, { table, snapshot, restrictions });
}

/** Restrictions say which columns the description has, and whether there is one. */
interface DescribedToBound {
  readonly table: TableRecord;
  readonly snapshot: Pick<Snapshot, 'version' | 'schema'>;
  readonly restrictions: Restrictions;
}

function answerToBound(call: Call, { table, snapshot, restrictions }: DescribedToBound): Answer {
  const { request } = call;
  const use = { statement: statementOf(call) };
  const { schema } = bindRestrictions(snapshot.schema, restrictions, request.object, use);
  const isLanceDb = request.dialect === 'lancedb';
  return jsonAnswer(call, {
    ...common(call, table),
    properties: {},
    version: snapshot.version,
    schema: schemaToJson(schema, isLanceDb ? 'lance' : 'namespace'),
    metadata: {},
    ...(isLanceDb ? {} : { managed_versioning: true }),
  });
}

const said = new DescriptionCache(answerOf, ({ withUri }) => String(withUri));

const saidToBound = new DescriptionCache(answerToBound, ({ restrictions }) =>
  textOfRestrictions(restrictions),
);

function answerOf(call: Call, { table, snapshot, withUri }: Described): Answer {
  return jsonAnswer(call, {
    ...common(call, table),
    ...written(call, snapshot, deletionsOf(snapshot)),
    ...locationFields(call, snapshot),
    ...(withUri ? { table_uri: uriOf(snapshot.folder) } : {}),
  });
}

/**
 * Credentials to read come with the right to read, those to write with the right
 * to commit. Local files need none, but the same rights.
 */
function requireCredentials(call: Call): void {
  const { permit, request } = call;
  const branch = branchParameter(call);
  const { object } = request;
  const writes =
    !permit.holds('QueryTable', object, branch) &&
    permit.holds('CreateTableVersion', object, branch);
  permit.require(writes ? 'CreateTableVersion' : 'QueryTable', object, branch);
}

function common(call: Call, table: TableRecord): object {
  const { object } = call.request;
  return {
    table: object.at(-1),
    namespace: namedPath(call.request, object).slice(0, -1),
    properties: table.properties,
    is_only_declared: table.kind === 'declared',
  };
}

interface Asked {
  readonly chain: Chain;
  readonly version: bigint | undefined;
  readonly withUri: boolean;
}

/** Description of a table that Lance clients write: location, and commits through the catalog. */
async function elsewhere(
  call: Call,
  tables: TableView,
  table: TableRecord,
  requested: Asked,
): Promise<object> {
  const location = table.location === null ? undefined : wireLocation(table.location);
  return {
    ...common(call, table),
    ...(await writtenElsewhere(call, tables, table, requested)),
    location,
    managed_versioning: true,
    ...(requested.withUri && table.location !== null ? { table_uri: uriOf(table.location) } : {}),
  };
}

async function writtenElsewhere(
  call: Call,
  tables: TableView,
  table: TableRecord,
  { chain, version }: Asked,
): Promise<object> {
  if (table.kind === 'declared' && version === undefined) return {};
  const { content } = await tables.version(table, version, chain);
  const { object } = call.request;
  const snapshot = await lanceSnapshot(tables.storage, locationOf(table), content, object);
  return written(call, snapshot, snapshot.fragments);
}

/** Description of a version. */
function written(
  call: Call,
  { version, schema }: Pick<Snapshot, 'version' | 'schema'>,
  fragments: readonly { readonly deletedRows: number }[],
): object {
  const vocabulary = call.request.dialect === 'lancedb' ? 'lance' : 'namespace';
  const deleted = fragments.reduce((sum, { deletedRows }) => sum + deletedRows, 0);
  return {
    version,
    schema: jsonOf(schema, vocabulary),
    metadata: Object.fromEntries(schema.metadata),
    stats: { num_deleted_rows: deleted, num_fragments: fragments.length },
  };
}

/** Cached by schema, which versions share and which is immutable. */
const described: Readonly<Record<Vocabulary, WeakMap<Schema, JsonSchema>>> = {
  lance: new WeakMap(),
  namespace: new WeakMap(),
};

function jsonOf(schema: Schema, vocabulary: Vocabulary): JsonSchema {
  const cached = described[vocabulary].get(schema);
  if (cached !== undefined) return cached;
  const json = schemaToJson(schema, vocabulary);
  described[vocabulary].set(schema, json);
  return json;
}

function deletionsOf({ fragments }: Snapshot): readonly { readonly deletedRows: number }[] {
  return fragments.map(({ physicalRows, rows }) => ({ deletedRows: physicalRows - rows }));
}

/**
 * Where the table lies. Nothing but this engine may write there, so a namespace
 * client gets no location: with one it would write. The LanceDB client only
 * shows it.
 */
function locationFields(call: Call, snapshot: Snapshot): object {
  return call.request.dialect === 'lancedb'
    ? { location: uriOf(snapshot.folder) }
    : { managed_versioning: true };
}

function uriOf(folder: string): string {
  return isObjectKey(folder) ? wireLocation(folder) : pathToFileURL(folder).href;
}
