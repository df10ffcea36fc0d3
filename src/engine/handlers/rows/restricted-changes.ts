import {
  restrictionReasons,
  type RestrictionReason,
} from '../../../protocol/restriction-reasons.ts';
import type { RecordBatch, Schema } from 'apache-arrow';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { conform } from '../../../arrow/types.ts';
import { fieldPosition } from '../../../arrow/field-position.ts';
import type { MergeRequest } from '../../change/merge-condition.ts';
import type { VisibleMerge } from '../../change/merge-rows.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { hiddenRowMade, type Restrictions } from '../../../protocol/restrictions.ts';
import type { RequirementName } from '../../../rules/commit-rule.ts';
import { statementOf } from '../../base/statement.ts';
import { incomingRows, withoutComputed } from '../../change/computed-rows.ts';
import {
  requireVisible,
  requireOwnColumns,
  restrictedColumns,
  type ChangeRefusals,
  type VisibleChange,
} from '../../change/visible-change.ts';
import { checkConforms, type Incoming } from '../../format/incoming.ts';
import type { TableRecord } from '../../format/records.ts';
import {
  bindRestrictions,
  type BoundRestrictions,
} from '../../query/restrict/bound-restrictions.ts';
import type { MaskSecret } from '../../query/restrict/mask-secret.ts';
import type { BatchSource } from '../../query/scan/batch-source.ts';
import type { Call } from '../call/handler.ts';
import { notApplied } from '../call/restricted-calls.ts';
import { requireApplicable, restrictedTable } from '../call/restricted-reads.ts';

/** Where a bound caller's rows are read, to change them. */
export interface RestrictedChanges {
  readonly reader: BatchSource;
  readonly maskSecret: MaskSecret;
}

type ChangeKind = 'insert' | 'update' | 'delete' | 'merge';

/** Requirements of commit rules whose verdict on a change would tell of hidden rows. */
const telling: Readonly<Record<ChangeKind, readonly RequirementName[]>> = {
  insert: ['unique', 'max_rows', 'max_bytes'],
  update: ['unique', 'max_bytes'],
  delete: ['max_removed_share'],
  merge: ['unique', 'max_rows', 'max_bytes', 'max_removed_share'],
};

/**
 * How a bound caller changes a table; undefined for a caller whom nothing binds.
 * @throws CatalogError PermissionDenied for a table of another kind than the engine's own, and where a
 * commit rule would tell of hidden rows.
 */
export function visibleChange(
  parts: RestrictedChanges,
  call: Call,
  table: TableRecord,
  kind: ChangeKind,
): VisibleChange | undefined {
  const restrictions = call.permit.restrictionsOn(call.request.object);
  if (restrictions === null) return undefined;
  requireApplicable(call, table, restrictions);
  return {
    table: (snapshot) => restrictedTable({ ...parts, snapshot }, call, restrictions),
    ...changeRefusals(call, restrictions, kind),
  };
}

/**
 * Refusals of changes of a table of any kind.
 * @throws CatalogError PermissionDenied where a commit rule would tell of hidden rows
 */
export function changeRefusals(
  { request, permit, rules }: Call,
  restrictions: Restrictions,
  kind: ChangeKind,
): ChangeRefusals {
  const { object, operation } = request;
  const refusal = (why: RestrictionReason) => notApplied(request, permit, restrictions, why);
  const rule = rules.ruleRequiring(object, requirementsOf(kind, restrictions));
  if (rule !== undefined) throw refusal(restrictionReasons.commitRule(rule));
  const names = [permit.principal.subject, operation.name, object, restrictions.names] as const;
  return {
    refusal,
    hidden: () => new CatalogError('PermissionDenied', hiddenRowMade(...names)),
  };
}

/** A check of updated rows reads their hidden values as well. */
function requirementsOf(kind: ChangeKind, { columns }: Restrictions): readonly RequirementName[] {
  const updates = kind === 'update' || kind === 'merge';
  return updates && columns.length > 0 ? [...telling[kind], 'check'] : telling[kind];
}

/**
 * The rows that a bound caller inserts, all of which the caller may see. Masked and hidden columns are
 * null in them.
 * @throws CatalogError PermissionDenied for other rows; TableSchemaValidationError for rows that do not
 * fit the columns that the caller may write.
 */
export function visibleIncoming(
  call: Call,
  incoming: Incoming,
  schema: Schema,
  change: ChangeRefusals,
): Incoming {
  const { object } = call.request;
  const restrictions = call.permit.restrictionsOn(object)!;
  const own = bindRestrictions(schema, restrictions, object, { statement: statementOf(call) });
  requireOwnColumns(
    incoming.schema.fields.map(({ name }) => name),
    own,
    change,
  );
  requireFilled(incoming, schema, own, change);
  const batches = judged(incomingRows(incoming, schema, statementOf(call)), schema, own, change);
  return { schema, batches };
}

/**
 * How a bound caller merges rows, which have no masked and no hidden column.
 * @throws CatalogError PermissionDenied for a key or a column that the caller may not write;
 * TableSchemaValidationError for rows that do not fit the other columns
 */
export function visibleMerge(
  call: Call,
  incoming: Incoming,
  { on, insert }: MergeRequest,
  schema: Schema,
  change: VisibleChange,
): VisibleMerge {
  const { object } = call.request;
  const restrictions = call.permit.restrictionsOn(object)!;
  const own = bindRestrictions(schema, restrictions, object, { statement: statementOf(call) });
  const keys = on.flatMap((name) => topColumn(schema, name));
  requireOwnColumns([...keys, ...incoming.schema.fields.map(({ name }) => name)], own, change);
  if (insert) requireFilled(incoming, schema, own, change);
  return { ...change, schema: own.schema };
}

/** The column of a path. */
function topColumn({ fields }: Schema, path: string): readonly string[] {
  const at = fieldPosition(fields, path) ?? fieldPosition(fields, path.split('.')[0]!);
  return at === undefined ? [] : [fields[at]!.name];
}

/** Columns that the caller cannot write become null or are computed; errors name no other columns. */
function requireFilled(
  incoming: Incoming,
  schema: Schema,
  bound: BoundRestrictions,
  { refusal }: ChangeRefusals,
): void {
  const restricted = restrictedColumns(bound);
  const sent = new Set(incoming.schema.fields.map(({ name }) => name));
  const open = withoutComputed(schema, sent).fields;
  const unfilled = open.find(({ name, nullable }) => restricted.has(name) && !nullable);
  if (unfilled !== undefined) {
    const name = JSON.stringify(unfilled.name);
    throw refusal(restrictionReasons.unfilledColumn(name));
  }
  const writable = open.filter(({ name }) => !restricted.has(name));
  checkConforms(incoming.schema, schemaOf(writable, schema.metadata));
}

async function* judged(
  batches: AsyncIterable<RecordBatch>,
  schema: Schema,
  bound: BoundRestrictions,
  change: ChangeRefusals,
): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    const rows = conform(batch, schema);
    await requireVisible(rows, bound, change);
    yield rows;
  }
}
