import type { Restrictions } from '../../../protocol/restrictions.ts';
import { statementOf } from '../../base/statement.ts';
import type { TableRecord } from '../../format/records.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import { bindRestrictions } from '../../query/restrict/bound-restrictions.ts';
import type { MaskSecret } from '../../query/restrict/mask-secret.ts';
import { visibleRows } from '../../query/restrict/visible-rows.ts';
import type { BatchSource } from '../../query/scan/fragment-reader.ts';
import type { VirtualRows } from '../../query/scan/virtual-rows.ts';
import type { QueryRequest } from '../../request/request.ts';
import type { Call } from '../call/handler.ts';
import { notApplied } from '../call/restricted-calls.ts';

/** Rows of a table that restrictions are applied to. */
interface RestrictedSource {
  readonly snapshot: Snapshot;
  readonly reader: BatchSource;
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
  { maskSecret, ...stored }: RestrictedSource,
  call: Call,
  restrictions: Restrictions,
): Promise<VirtualRows> {
  const { object } = call.request;
  const hashes = restrictions.columns.some(({ as }) => as !== 'hidden' && as.mask === 'sha256');
  if (hashes && maskSecret === undefined) {
    throw notApplied(call.request, call.permit, restrictions, 'there is no key for its hashes');
  }
  const secret = hashes ? await maskSecret?.() : undefined;
  const use = { statement: statementOf(call), secret };
  return visibleRows(stored, bindRestrictions(stored.snapshot.schema, restrictions, object, use));
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
