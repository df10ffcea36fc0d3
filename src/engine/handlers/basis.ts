import { unchanged } from '../catalog/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import type { Call } from '../handler.ts';
import { textField } from '../query/fields.ts';
import type { Chain } from '../table/chain.ts';

/**
 * Tells that the answer about a table was made of its record, of the line of versions
 * and, where one is given, of the record of a version. Nothing is told of a version that was found
 * by a tag: what the tag names had to be asked of the permit too.
 */
export function restOn(
  { rests, body }: Call,
  table: Stored<TableRecord>,
  { checks }: Pick<Chain, 'checks'>,
  version?: Stored<VersionRecord>,
): void {
  if (rests === undefined || textField(body, 'tag') !== null) return;
  const own = [unchanged(table), ...checks];
  rests(version === undefined ? own : [...own, unchanged(version)]);
}
