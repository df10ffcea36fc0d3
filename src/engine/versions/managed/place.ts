import { basename, dirname, join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { LANCE_VERSIONS } from '../../format/lance/versions.ts';
import {
  parseVersionFile,
  versionFile,
  type NamingScheme,
  type VersionFile,
} from '../../format/lance/version-file.ts';
import { MAIN } from '../../format/chain.ts';
import { storeRoot } from '../../../storage/object-key.ts';

/** The folder in which Lance clients keep branches. */
export const LANCE_TREE = 'tree';

/** The folder beside `_versions` for manifests that an operator set aside. */
export const SET_ASIDE = '_set_aside';

/** A staged manifest by its names inside the table's folder. */
export interface StagedPlace {
  readonly staging: string;
  /** Its name once it is final. */
  readonly manifest: string;
  /** The folder of both. */
  readonly folder: string;
}

/** Claims of a request about a staged manifest. */
interface StagedClaim {
  readonly branch: string;
  readonly version: bigint;
  /** As `storeKey`. */
  readonly manifestPath: string;
  readonly namingScheme: string | null;
}

/**
 * The key of a file in the object store that Lance clients use: its path in the bucket, or its absolute path
 * without the leading slash (wire contract, section 10.4).
 * @param name The file's name inside the table's folder.
 */
export function storeKey(location: string, name: string): string {
  return join(location, name).slice(storeRoot(location).length);
}

/**
 * The place of a staged manifest by its name: in the folder of the versions of its own branch of its own
 * table, under the name of its own version.
 * @throws CatalogError InvalidInput naming the failed condition.
 */
export function stagedPlace(location: string, claim: StagedClaim): StagedPlace {
  const { branch, manifestPath, version } = claim;
  const path = `${storeRoot(location)}${manifestPath.replace(/^\//, '')}`;
  const folder = path.startsWith(`${location}/`) ? dirname(path).slice(location.length + 1) : '';
  if (path.includes('\u0000') || folder !== versionsFolder(branch)) {
    throw refused(manifestPath, `does not lie in ${folderPhrase(branch)}`);
  }
  const file = parseVersionFile(basename(path));
  if (file === undefined || file.staging === '') {
    throw refused(manifestPath, 'is not the name of a staged manifest');
  }
  if (file.version !== version) {
    throw refused(manifestPath, `is the name of version ${file.version}, not of ${version}`);
  }
  const scheme = claimedScheme(claim, file);
  return {
    folder,
    staging: pathIn(folder, basename(path)),
    manifest: pathIn(folder, versionFile(version, scheme)),
  };
}

/** All names that the manifest of a version may have: those of both schemes. */
export function finalNames(folder: string, version: bigint): readonly string[] {
  const names = new Set([versionFile(version, 'V2'), versionFile(version, 'V1')]);
  return [...names].map((name) => pathIn(folder, name));
}

/** The scheme of a manifest by its name; undefined for another file. */
export function schemeOf(manifest: string): NamingScheme | undefined {
  return parseVersionFile(basename(manifest))?.scheme;
}

/** The path of a name in a folder. Faster than `join`, for names without `.` and `..`: a commit makes a dozen. */
export function pathIn(folder: string, name: string): string {
  return `${folder}/${name}`;
}

export function refused(manifestPath: string, why: string): CatalogError {
  return new CatalogError('InvalidInput', `manifest_path ${JSON.stringify(manifestPath)} ${why}`);
}

/** The folder of a branch's versions, inside the table's. */
export function versionsFolder(branch: string): string {
  return branch === MAIN ? LANCE_VERSIONS : join(LANCE_TREE, branch, LANCE_VERSIONS);
}

function folderPhrase(branch: string): string {
  return branch === MAIN
    ? `the folder ${LANCE_VERSIONS} of the table`
    : `the folder ${LANCE_VERSIONS} of the branch ${JSON.stringify(branch)} of the table`;
}

const schemes: readonly NamingScheme[] = ['V1', 'V2'];

/** A version that belongs to no chain has one name in both. */
function claimedScheme(
  { namingScheme, manifestPath }: StagedClaim,
  file: VersionFile,
): NamingScheme {
  const scheme = namingScheme ?? file.scheme;
  const known = schemes.find((one) => one === scheme);
  if (known === undefined) {
    throw new CatalogError(
      'InvalidInput',
      `naming_scheme must be "V1" or "V2", not ${JSON.stringify(scheme)}`,
    );
  }
  if (known === file.scheme || file.version < 0n) return known;
  throw refused(manifestPath, `is a name of the scheme ${file.scheme}, not of ${known}`);
}
