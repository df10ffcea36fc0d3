import { dirname, join, relative } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Store } from '../../../store/store.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { inheritedProperty } from '../../catalog/inherited-property.ts';
import { externalKey } from '../../catalog/records/keys.ts';
import type { TableRecord } from '../../format/records.ts';
import { isAbsent } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { danglingReference } from '../../format/lance/manifest-references.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { lanceVersions, type LanceVersion } from '../../format/lance/versions.ts';
import { MAIN } from '../../format/chain.ts';
import { versionsFolder } from './place.ts';

/** The table property that lets Lance clients write versions without the catalog, and its value. */
const PROPERTY = 'external_writes';
const ADOPT = 'adopt';

/** Whether each request looks for versions that were written without the catalog. */
export function adoptsExternalWrites({ properties }: Pick<TableRecord, 'properties'>): boolean {
  return properties[PROPERTY] === ADOPT;
}

/**
 * The properties of a new table of Lance clients: `external_writes` of the nearest namespace that
 * has it is added, unless they have it.
 */
export async function withExternalWrites(
  catalog: Pick<Catalog, 'namespace'>,
  path: ObjectPath,
  properties: TableRecord['properties'],
): Promise<TableRecord['properties']> {
  if (properties[PROPERTY] !== undefined) return properties;
  const inherited = await inheritedProperty(catalog, path, PROPERTY);
  return inherited === undefined ? properties : { ...properties, [PROPERTY]: inherited };
}

/**
 * The manifests in a line's folder of versions beyond one, in ascending order. Staged manifests
 * and detached versions are left out. A version with names of both schemes is listed once.
 * @param after The newest version that the catalog knows of the line; 0 for none.
 */
export async function externalVersions(
  storage: Storage,
  location: string,
  branch: string,
  after: bigint,
): Promise<readonly LanceVersion[]> {
  const folder = join(location, dirname(versionsFolder(branch)));
  const found = (await lanceVersions(storage, folder)).filter(({ version }) => version > after);
  return found.filter(({ version }, index) => version !== found[index - 1]?.version);
}

/**
 * Why the manifest of an external version cannot be adopted whatever the rules say; undefined
 * for one that can.
 */
export async function unsoundness(
  storage: Storage,
  location: string,
  { version, manifest: path }: LanceVersion,
): Promise<string | undefined> {
  const name = relative(location, path);
  if ((await storage.ownership(location, name)) !== 'own') return `${name} leads through a link`;
  try {
    const content = await readManifestFile(storage, path);
    const found = content.manifest.version;
    if (found !== version) return `${name} holds the manifest of version ${found}`;
    const fault = danglingReference(content);
    return fault && `${name} cannot be read by Lance: ${fault}`;
  } catch (error) {
    if (error instanceof LanceManifestError) return `${name} cannot be read: ${error.message}`;
    if (isAbsent(error)) return `${name} is gone`;
    throw error;
  }
}

/** An external version that was not adopted. The versions of its line end before it until an operator decides. */
export interface RefusedVersion {
  readonly version: bigint;
  /** Why, as one sentence without a full stop. */
  readonly reason: string;
}

/** The bytes of the store's record of a refused version. */
export function encodeRefused({ version, reason }: RefusedVersion): Uint8Array {
  return Buffer.from(JSON.stringify({ version: String(version), reason }));
}

/** The inverse of `encodeRefused`. */
function decodeRefused(bytes: Uint8Array): RefusedVersion {
  const { version, reason } = JSON.parse(Buffer.from(bytes).toString()) as Readonly<
    Record<'version' | 'reason', string>
  >;
  return { version: BigInt(version), reason };
}

/**
 * The refused version of a line.
 * @param chain `main`, or a branch's id.
 */
export async function refusedVersion(
  store: Pick<Store, 'get'>,
  tableId: string,
  chain: string,
): Promise<RefusedVersion | undefined> {
  const value = await store.get(externalKey(tableId, chain));
  return value === undefined ? undefined : decodeRefused(value);
}

/** Answer to a commit on a line with a refused version. */
export function refusedBehind(
  path: ObjectPath,
  branch: string,
  { version, reason }: RefusedVersion,
): CatalogError {
  const name = canonicalPath(path);
  const flag = branch === MAIN ? '' : ` --branch ${branch}`;
  const where = branch === MAIN ? '' : ` on the branch ${JSON.stringify(branch)}`;
  const command = `arrowgate catalog adopt ${name}${flag}`;
  return new CatalogError(
    'TableSchemaValidationError',
    `version ${version} of the table ${name}${where} was written without the catalog and is not adopted: ${reason}. An operator must run \`${command} --accept ${version}\` or \`${command} --set-aside ${version}\``,
  );
}
