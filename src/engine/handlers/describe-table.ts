import { pathToFileURL } from 'node:url';
import { schemaToJson } from '../../arrow/json-schema.ts';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { TableRecord } from '../catalog/records.ts';
import type { Call } from '../handler.ts';
import { branchParameter, namedBranch } from '../parameters.ts';
import { countField, flagField, textField } from '../query/fields.ts';
import { MAIN } from '../table/chain.ts';
import type { Snapshot } from '../table/snapshot.ts';
import type { Tags } from '../table/tags.ts';
import type { TableView } from './table-view.ts';

/**
 * DescribeTable. A table that has data always has `version` and `schema`: their
 * absence tells a client that it was only declared (wire contract, section 7.3).
 */
export async function describeTable(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  call: Call,
): Promise<Answer> {
  if (flagField(call.body, 'vend_credentials', false)) {
    call.permit.require('QueryTable', call.request.object, branchParameter(call));
  }
  const withUri = flagField(call.body, 'with_table_uri', false);
  const table = (await catalog.requireTable(call.request.object)).content;
  if (table.kind === 'declared') return jsonAnswer(call, declared(call, table));
  const { branch, version } = await placeOf(tags, table, call);
  const snapshot = await tables.snapshot(table, version, await tables.chain(table, branch));
  return jsonAnswer(call, {
    ...common(call, table),
    ...written(call, snapshot),
    ...whereabouts(call, snapshot),
    ...(withUri ? { table_uri: uriOf(snapshot) } : {}),
  });
}

/** What is asked for: a branch, and one of its versions unless it is the newest. */
interface Place {
  readonly branch: string;
  readonly version: bigint | undefined;
}

/** The version that is asked for, by its number and branch or by a tag. */
async function placeOf(tags: Tags, table: TableRecord, call: Call): Promise<Place> {
  const version = countField(call.body, 'version') ?? undefined;
  const name = textField(call.body, 'tag');
  if (name === null) return { branch: branchParameter(call), version };
  const tag = await tags.require(table.id, name);
  const branch = tag.branch ?? MAIN;
  const asked = namedBranch(call) ?? branch;
  if (tag.branch !== null) {
    call.permit.require(call.request.operation.name, call.request.object, branch);
  }
  if (asked !== branch) {
    throw new CatalogError(
      'InvalidInput',
      `the tag ${JSON.stringify(name)} names a version of the branch ${JSON.stringify(branch)}, not of ${JSON.stringify(asked)}`,
    );
  }
  if (version === undefined || version === tag.version) return { branch, version: tag.version };
  throw new CatalogError(
    'InvalidInput',
    `the tag ${JSON.stringify(name)} names version ${tag.version}, not version ${version}`,
  );
}

function common(call: Call, table: TableRecord): object {
  const { object } = call.request;
  return {
    table: object.at(-1),
    namespace: object.slice(0, -1),
    properties: table.properties,
    is_only_declared: table.kind === 'declared',
  };
}

function declared(call: Call, table: TableRecord): object {
  return { ...common(call, table), location: table.location, managed_versioning: true };
}

function written(call: Call, snapshot: Snapshot): object {
  const vocabulary = call.request.dialect === 'lancedb' ? 'lance' : 'namespace';
  return {
    version: snapshot.version,
    schema: schemaToJson(snapshot.schema, vocabulary),
    metadata: Object.fromEntries(snapshot.schema.metadata),
    stats: { num_deleted_rows: deletedRows(snapshot), num_fragments: snapshot.fragments.length },
  };
}

function deletedRows({ fragments }: Snapshot): number {
  return fragments.reduce((sum, { physicalRows, rows }) => sum + physicalRows - rows, 0);
}

/**
 * Where the table lies. Nothing but this engine may write there, so a namespace
 * client gets no location: with one it would write. The LanceDB client only
 * shows it.
 */
function whereabouts(call: Call, snapshot: Snapshot): object {
  return call.request.dialect === 'lancedb'
    ? { location: uriOf(snapshot) }
    : { managed_versioning: true };
}

function uriOf(snapshot: Snapshot): string {
  return pathToFileURL(snapshot.folder).href;
}
