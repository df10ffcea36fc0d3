import { restrictionReasons } from '../../../protocol/restriction-reasons.ts';
import type { Schema } from 'apache-arrow';
import type { Restrictions } from '../../../protocol/restrictions.ts';
import { statementOf } from '../../base/statement.ts';
import type { TableRecord } from '../../format/records.ts';
import {
  bindRestrictions,
  type BoundRestrictions,
} from '../../query/restrict/bound-restrictions.ts';
import type { MaskSecret } from '../../query/restrict/mask-secret.ts';
import {
  visibleTable,
  type StoredRows,
  type VisibleTable,
} from '../../query/restrict/visible-rows.ts';
import type { VirtualRows } from '../../query/scan/virtual-rows.ts';
import type { QueryRequest } from '../../request/request.ts';
import type { Call } from './handler.ts';
import { notApplied } from './restricted-calls.ts';

/** Rows of a table that restrictions are applied to. */
interface RestrictedSource extends StoredRows {
  readonly maskSecret: MaskSecret;
}

/** @throws CatalogError PermissionDenied for a table of another kind than the engine's own */
export function requireApplicable(
  { request, permit }: Call,
  { kind }: TableRecord,
  restrictions: Restrictions,
): void {
  if (kind !== 'engine')
    throw notApplied(request, permit, restrictions, restrictionReasons.rowsElsewhere());
}

/**
 * The rows of a version that the caller may see.
 * @throws CatalogError PermissionDenied for restrictions that do not fit the table
 */
export async function restrictedRows(
  source: RestrictedSource,
  call: Call,
  restrictions: Restrictions,
): Promise<VirtualRows> {
  return (await restrictedTable(source, call, restrictions)).rows;
}

/** The same, with the places of the rows. */
export async function restrictedTable(
  { maskSecret, ...stored }: RestrictedSource,
  call: Call,
  restrictions: Restrictions,
): Promise<VisibleTable> {
  const { schema } = stored.snapshot;
  return visibleTable(stored, await boundTo(schema, { maskSecret }, call, restrictions));
}

/**
 * Restrictions bound to the columns of a version.
 * @throws CatalogError PermissionDenied for restrictions that do not fit them
 */
export async function boundTo(
  schema: Schema,
  { maskSecret }: Pick<RestrictedSource, 'maskSecret'>,
  call: Call,
  restrictions: Restrictions,
): Promise<BoundRestrictions> {
  const { object } = call.request;
  const hashes = restrictions.columns.some(({ as }) => as !== 'hidden' && as.mask === 'sha256');
  const secret = hashes ? await maskSecret() : undefined;
  return bindRestrictions(schema, restrictions, object, { statement: statementOf(call), secret });
}

/**
 * A query that compares all rows: no index covers those of a restricted table.
 * @throws CatalogError PermissionDenied for a text search of a Lance table
 */
export function restrictedQuery(
  query: QueryRequest,
  { request, permit }: Call,
  { kind }: TableRecord,
  restrictions: Restrictions,
): QueryRequest {
  const { nearest, text } = query;
  if (text !== null && kind === 'lance') {
    const why = restrictionReasons.lanceText();
    throw notApplied(request, permit, restrictions, why);
  }
  return {
    ...query,
    nearest: nearest && { ...nearest, index: { ...nearest.index, fast: false } },
    text: text && { ...text, fastSearch: false },
  };
}
