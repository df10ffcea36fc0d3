import type { Storage } from '../../../storage/storage.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { TableRecord, Stored, VersionRecord } from '../../format/records.ts';
import type { Call } from './handler.ts';
import { branchParameter, namedBranch } from './parameters.ts';
import { countField, textField, type Fields } from '../../base/fields.ts';
import { MAIN, type Chain } from '../../format/chain.ts';
import type { IsProtected } from '../../versions/lines/tag-folder.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import type { FoundSnapshot, Snapshot } from '../../format/snapshot.ts';
import type { VersionPage } from '../../versions/lines/version-store.ts';

/** The version to read: a branch and a number, newest by default. */
interface ReadPlace {
  readonly branch: string;
  readonly version: bigint | undefined;
}

/**
 * Resolves the version of a request by number and branch or by tag.
 * @param fields The body, or a query inside it.
 * @throws CatalogError TableTagNotFound; InvalidInput for a tag that contradicts the request's
 * version or branch.
 */
export async function readPlace(
  tags: Pick<Tags, 'require'>,
  table: TableRecord,
  call: Call,
  fields: Fields = call.body,
): Promise<ReadPlace> {
  const version = countField(fields, 'version') ?? undefined;
  const name = textField(fields, 'tag');
  if (name === null) return { branch: branchParameter(call), version };
  const tag = await tags.require(table, name, protectedTags(call));
  const branch = tag.branch ?? MAIN;
  const requested = namedBranch(call) ?? branch;
  if (tag.branch !== null) {
    call.permit.require(call.request.operation.name, call.request.object, branch);
  }
  if (requested !== branch) throw otherBranch(name, branch, requested);
  if (version === undefined || version === tag.version) return { branch, version: tag.version };
  throw new CatalogError(
    'InvalidInput',
    `the tag ${JSON.stringify(name)} names version ${tag.version}, not version ${version}`,
  );
}

/** Which tags of the table of a request a commit rule protects. */
export function protectedTags({ rules, request }: Pick<Call, 'rules' | 'request'>): IsProtected {
  return (name) => rules.protectsTag(request.object, name);
}

function otherBranch(name: string, branch: string, requested: string): CatalogError {
  const [tag, itsOwn, other] = [name, branch, requested].map((text) => JSON.stringify(text));
  return new CatalogError(
    'InvalidInput',
    `the tag ${tag} names a version of the branch ${itsOwn}, not of ${other}`,
  );
}

/** Reads of table metadata. */
export interface TableView {
  /** Storage of the tables' files. */
  readonly storage: Storage;
  /** The line of a branch or `main`. @throws CatalogError TableBranchNotFound. */
  chain(table: TableRecord, branch: string): Promise<Chain>;
  /** A table at its newest or at a given version. @throws CatalogError TableVersionNotFound. */
  snapshot(table: TableRecord, version?: bigint, chain?: Chain): Promise<Snapshot>;
  /** As `snapshot`, with the record of the version. */
  found(table: TableRecord, version?: bigint, chain?: Chain): Promise<FoundSnapshot>;
  /** A version by its record; undefined if its manifest has to be read. Absent where that is not known. */
  foundNow?(table: TableRecord, record: Stored<VersionRecord>): FoundSnapshot | undefined;
  /** Record of a table's newest or a given version. @throws CatalogError TableVersionNotFound. */
  version(table: TableRecord, version?: bigint, chain?: Chain): Promise<Stored<VersionRecord>>;
  versions(table: TableRecord, page: VersionPage, chain?: Chain): Promise<readonly VersionRecord[]>;
}
