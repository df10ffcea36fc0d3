import type { Answer } from '../../../protocol/backend.ts';
import { stringifyJson } from '../../../protocol/json.ts';
import type { Page } from '../../catalog/records/page.ts';
import type { Call, Basis } from './handler.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import { namesVersion } from './parameters.ts';
import { textField } from '../../base/fields.ts';
import type { Chain } from '../../format/chain.ts';

/** What an answer says besides its body. */
export type AnswerNotes = Omit<Answer, 'status' | 'body' | 'contentType'>;

/** A JSON object with the operation's status of success. Members without a value are left out. */
export function jsonAnswer(call: Call, value: object, notes: AnswerNotes = {}): Answer {
  return {
    status: call.request.operation.success,
    contentType: 'application/json',
    body: stringifyJson(value),
    ...notes,
  };
}

/** An answer of which only the status matters. */
export function emptyAnswer(call: Call): Answer {
  return { status: call.request.operation.success, body: null };
}

/** A listing. It takes nothing but a page, which holds nothing but visible names. */
export function pageAnswer(call: Call, member: 'namespaces' | 'tables', page: Page): Answer {
  return jsonAnswer(call, { [member]: page.names, page_token: page.token });
}

/**
 * Tells that the answer about a table was made of its record, of the line of versions
 * and, where one is given, of the record of a version. Nothing is told of a version that was found
 * by a tag: what the tag names had to be asked of the permit too.
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

/** What is asked of a version by its number is of no other. */
function newestOf(call: Call, version: Stored<VersionRecord> | undefined): Basis['newest'] {
  return namesVersion(call) ? null : version?.content.version;
}

/**
 * Asks for the further rights of a mode that only the body names, as the
 * operation table lists them.
 * @throws CatalogError PermissionDenied.
 */
export function requireMode(call: Call, mode: string): void {
  const { operation, object } = call.request;
  for (const action of operation.modes?.[mode]?.actions ?? []) call.permit.require(action, object);
}
