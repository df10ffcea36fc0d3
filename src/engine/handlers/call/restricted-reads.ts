import type { Restrictions } from '../../../protocol/restrictions.ts';
import { statementOf } from '../../base/statement.ts';
import type { TableRecord } from '../../format/records.ts';
import { bindRestrictions } from '../../query/restrict/bound-restrictions.ts';
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
  /** Absent if masks that hash are refused. */
  readonly maskSecret?: MaskSecret | undefined;
}

const kept = 'its rows are not kept by this engine';

/** @throws CatalogError PermissionDenied for a table of another kind than the engine's own. */
export function requireApplicable(
  { request, permit }: Call,
  { kind }: TableRecord,
  restrictions: Restrictions,
): void {
  if (kind !== 'engine') throw notApplied(request, permit, restrictions, kept);
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
  const { object } = call.request;
  const hashes = restrictions.columns.some(({ as }) => as !== 'hidden' && as.mask === 'sha256');
  if (hashes && maskSecret === undefined) {
    throw notApplied(call.request, call.permit, restrictions, 'there is no key for its hashes');
  }
  const secret = hashes ? await maskSecret?.() : undefined;
  const use = { statement: statementOf(call), secret };
  const bound = bindRestrictions(stored.snapshot.schema, restrictions, object, use);
  return visibleTable(stored, bound);
}

/** A query that compares all rows: no index covers those of a restricted table. */
export function withoutFastSearch(query: QueryRequest): QueryRequest {
  const { nearest, text } = query;
  return {
    ...query,
    nearest: nearest && { ...nearest, index: { ...nearest.index, fast: false } },
    text: text && { ...text, fastSearch: false },
  };
}
