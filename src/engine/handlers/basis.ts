import { unchanged } from '../catalog/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import type { Basis, Call } from '../handler.ts';
import { namesVersion } from '../parameters.ts';
import { textField } from '../query/fields.ts';
import type { Chain } from '../table/chain.ts';

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
  if (call.rests === undefined || textField(call.body, 'tag') !== null) return;
  const own = [unchanged(table), ...checks];
  const records = version === undefined ? own : [...own, unchanged(version)];
  call.rests({ records, newest: newestOf(call, version) });
}

/** What is asked of a version by its number is of no other. */
function newestOf(call: Call, version: Stored<VersionRecord> | undefined): Basis['newest'] {
  return namesVersion(call) ? null : version?.content.version;
}
