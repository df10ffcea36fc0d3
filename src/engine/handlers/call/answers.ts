import type { Answer } from '../../../protocol/backend.ts';
import { stringifyJson } from '../../../protocol/json.ts';
import type { Page } from '../../catalog/records/page.ts';
import type { Call, Basis } from './handler.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import { namesVersion } from './parameters.ts';
import { textField } from '../../base/fields.ts';
import type { Chain } from '../../format/chain.ts';

/** Parts of an answer other than its body. */
export type AnswerNotes = Omit<Answer, 'status' | 'body' | 'contentType'>;

/** A JSON answer with the operation's status of success. Undefined members are left out. */
export function jsonAnswer(call: Call, value: object, notes: AnswerNotes = {}): Answer {
  return {
    status: call.request.operation.success,
    contentType: 'application/json',
    body: stringifyJson(value),
    ...notes,
  };
}

/** An answer without content. */
export function emptyAnswer(call: Call): Answer {
  return { status: call.request.operation.success, body: null };
}

/** A listing from a page, which holds only visible names. */
export function pageAnswer(call: Call, member: 'namespaces' | 'tables', page: Page): Answer {
  return jsonAnswer(call, { [member]: page.names, page_token: page.token });
}

/**
 * Reports the records on which an answer depends: the table, the line and the version, if given.
 * Nothing is reported for a version found by tag, since its branch was checked with the permit.
 */
export function restOn(
  call: Call,
  table: Stored<TableRecord>,
  { checks }: Pick<Chain, 'checks'>,
  version?: Stored<VersionRecord>,
): void {
  if (call.reportBasis === undefined || textField(call.body, 'tag') !== null) return;
  const own = [unchanged(table), ...checks];
  const records = version === undefined ? own : [...own, unchanged(version)];
  call.reportBasis({ records, newest: newestOf(call, version) });
}

/** A version named by number has no newest one. */
function newestOf(call: Call, version: Stored<VersionRecord> | undefined): Basis['newest'] {
  return namesVersion(call) ? null : version?.content.version;
}

/**
 * Requires the additional rights of a mode that only the body names, from the operation table.
 * @throws CatalogError PermissionDenied.
 */
export function requireMode(call: Call, mode: string): void {
  const { operation, object } = call.request;
  for (const action of operation.modes?.[mode]?.actions ?? []) call.permit.require(action, object);
}
