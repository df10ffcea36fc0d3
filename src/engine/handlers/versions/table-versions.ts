import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { jsonAnswer, restOn } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { TableRecord, VersionRecord } from '../../format/records.ts';
import type { Call, Handler } from '../call/handler.ts';
import { isPaginated, branchParameter, limitParameter } from '../call/parameters.ts';
import { flagField, textField, countField, integerField } from '../../base/fields.ts';
import type { Chain } from '../../format/chain.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import { storeKey } from '../../versions/managed/place.ts';
import { adoptedTable } from '../call/adopted-table.ts';
import type { TableView } from '../call/read-place.ts';
import type { Tables } from '../../versions/tables.ts';

/** The selection of a version listing. */
interface Listing {
  readonly chain: Chain;
  readonly after: bigint | undefined;
  readonly descending: boolean;
  readonly limit: number;
}

/** ListTableVersions. A page token is the last version of the page before. */
export async function listTableVersions(
  catalog: Catalog,
  tables: TableView,
  pageLimit: number,
  call: Call,
): Promise<Answer> {
  const branch = branchParameter(call);
  const found = await catalog.requireTable(call.request.object);
  const table = (await adoptedTable(call, found, branch)).content;
  const listing = {
    chain: await tables.chain(table, branch),
    after: tokenOf(textField(call.body, 'page_token')),
    descending: flagField(call.body, 'descending', false),
    limit: limitParameter(call, pageLimit),
  };
  if (pagesAreUnknown(call)) {
    const all = await everyVersion(tables, table, listing);
    return versionsAnswer(call, table, all, undefined);
  }
  const read = await readVersions(tables, table, listing, listing.limit + 1);
  const shown = read.slice(0, listing.limit);
  const more = read.length > shown.length;
  return versionsAnswer(call, table, shown, more ? shown.at(-1)?.version : undefined);
}

/** The LanceDB client takes what it gets for all there is. */
function pagesAreUnknown(call: Call): boolean {
  return call.request.dialect === 'lancedb' && !isPaginated(call);
}

async function everyVersion(
  tables: TableView,
  table: TableRecord,
  listing: Listing,
): Promise<readonly VersionRecord[]> {
  const all: VersionRecord[] = [];
  let { after } = listing;
  for (;;) {
    const found = await readVersions(tables, table, { ...listing, after }, listing.limit);
    all.push(...found);
    if (found.length < listing.limit) return all;
    after = found.at(-1)?.version;
  }
}

async function readVersions(
  tables: TableView,
  table: TableRecord,
  { chain, after, descending }: Listing,
  limit: number,
): Promise<readonly VersionRecord[]> {
  const page = { ...(after === undefined ? {} : { after }), limit, descending };
  return tables.versions(table, page, chain);
}

function tokenOf(text: string | null): bigint | undefined {
  if (text === null || text === '') return undefined;
  if (/^\d{1,19}$/.test(text)) return BigInt(text);
  throw new CatalogError(
    'InvalidInput',
    `page_token must be the last version of the page before, not ${JSON.stringify(text)}`,
  );
}

function versionsAnswer(
  call: Call,
  table: TableRecord,
  versions: readonly VersionRecord[],
  last: bigint | undefined,
): Answer {
  const entries = versions.map((record) => versionEntry(table, record));
  return jsonAnswer(call, { versions: entries, page_token: last?.toString() });
}

/**
 * A version as clients read it. Both forms of the time: older clients read only one of them (wire
 * contract, section 12.18). Lance clients open the manifest themselves; for a table that this engine
 * writes its path is omitted.
 */
export function versionEntry(table: TableRecord, record: VersionRecord): object {
  const { manifest, eTag } = record;
  return {
    version: record.version,
    manifest_path: table.kind === 'engine' ? manifest : storeKey(locationOf(table), manifest),
    manifest_size: record.manifestBytes,
    ...(eTag === undefined ? {} : { e_tag: eTag }),
    timestamp_millis: record.timestampMillis,
    timestamp: new Date(record.timestampMillis).toISOString(),
    metadata: record.metadata,
  };
}

/** DescribeTableVersion: the newest unless one is named. */
export function describeVersion(catalog: Catalog, tables: Tables): Handler {
  return async (call) => {
    const branch = branchParameter(call);
    const found = await catalog.requireTable(call.request.object);
    const table = await adoptedTable(call, found, branch);
    const { content } = table;
    const version = versionField(call, content);
    const chain = await tables.chain(content, branch);
    const stored = await tables.version(content, version, chain);
    // Lance clients remove manifests on their own.
    if (content.kind === 'engine') restOn(call, table, chain, stored);
    return jsonAnswer(call, { version: versionEntry(content, stored.content) });
  };
}

/** Lance clients give versions that belong to no chain the highest of 64 bits: they arrive as negative numbers. */
function versionField({ body }: Call, { kind }: TableRecord): bigint | undefined {
  const version = (kind === 'lance' ? integerField : countField)(body, 'version');
  return version ?? undefined;
}
