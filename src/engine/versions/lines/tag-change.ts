import { CatalogError } from '../../../protocol/errors.ts';
import type { ReadCheck } from '../../../store/store.ts';
import type { Plan } from '../../catalog/records/commit-loop.ts';
import type { JudgeTable, Seal } from '../../catalog/records/seal.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import { encodeTag } from '../../catalog/records/records-codec.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import type { Stored, TableRecord, TagRecord, VersionRecord } from '../../format/records.ts';
import type { IsProtected } from './tag-folder.ts';

/** Subject of a tag change; read again before each attempt. */
export interface TagChange {
  readonly name: string;
  readonly table: () => Promise<Stored<TableRecord>>;
  readonly seal?: Seal<unknown> | undefined;
  readonly isProtected?: IsProtected;
  /** Called with the current tag, if there is one, before any error about it. */
  readonly permitted?: ((tag: TagRecord) => void) | undefined;
  /** Called once the change is known to be possible. */
  readonly judge?: JudgeTable | undefined;
}

/** A change that makes a tag name a version. */
export interface TagMove extends TagChange {
  /** The line of the version; main by default. */
  readonly chain?: (table: TableRecord) => Promise<Chain>;
  /** The version's record. Throws when there is none. */
  readonly version: (table: TableRecord, chain: Chain) => Promise<Stored<VersionRecord>>;
}

/** Target of a tag. */
interface Target {
  readonly chain: Chain;
  readonly version: Stored<VersionRecord>;
}

/** @throws what `version` of the move does */
export async function targetOf(move: TagMove, table: TableRecord): Promise<Target> {
  const chain = (await move.chain?.(table)) ?? MAIN_CHAIN;
  return { chain, version: await move.version(table, chain) };
}

/** Whether a tag names the target already. */
export function namesTarget(tag: TagRecord, { chain, version }: Target): boolean {
  return tag.version === version.content.version && (tag.branch ?? MAIN) === chain.branch;
}

/** The key of a tag's record, and whether the tag has a file as well. */
export interface PlacedTag {
  readonly key: string;
  readonly hasFile: boolean;
}

export type TagCommit = Pick<Extract<Plan<null>, { kind: 'commit' }>, 'checks' | 'writes'>;

/**
 * The commit that makes a tag name a target.
 * @param record The record that it has.
 * @param before The tag as it was; undefined for a new one.
 */
export function setTag(
  { key, hasFile }: PlacedTag,
  { chain, version }: Target,
  record: Stored<TagRecord> | undefined,
  before?: TagRecord,
): TagCommit {
  const now = Date.now();
  const tag: TagRecord = {
    branch: chain.branch === MAIN ? null : chain.branch,
    version: version.content.version,
    manifestBytes: version.content.manifestBytes,
    createdMillis: before?.createdMillis ?? now,
    updatedMillis: now,
    ...(hasFile && { pending: 'write' }),
  };
  return {
    checks: [unchanged(version), ...chain.checks, unchangedOrAbsent(key, record)],
    writes: [{ key, value: encodeTag(tag) }],
  };
}

/** The commit that removes a tag. */
export function unsetTag(
  { key, hasFile }: PlacedTag,
  tag: TagRecord,
  record: Stored<TagRecord> | undefined,
): TagCommit {
  const value = hasFile ? encodeTag({ ...tag, pending: 'removal' }) : null;
  return { checks: [unchangedOrAbsent(key, record)], writes: [{ key, value }] };
}

function unchangedOrAbsent(key: string, record: Stored<TagRecord> | undefined): ReadCheck {
  return record === undefined ? absent(key) : unchanged(record);
}

export function tagNotFound(name: string): CatalogError {
  return new CatalogError('TableTagNotFound', `the table has no tag ${JSON.stringify(name)}`);
}
