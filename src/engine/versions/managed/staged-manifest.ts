import { errorCode, isAbsent } from '../../../storage/storage-error.ts';
import type { OpenObject, Storage } from '../../../storage/storage.ts';
import { isObjectKey } from '../../../storage/object-key.ts';
import { LinkedPath } from '../../../storage/plain-path.ts';
import type { Flushes } from '../../../storage/flushes.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { danglingReference } from '../../format/lance/manifest-references.ts';
import { readOpenManifest, type ManifestContent } from '../../format/lance/manifest-file.ts';
import { refused, pathIn, type StagedPlace } from './place.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';

/** A manifest that a client has staged, and that is one. */
export interface StagedManifest extends ManifestContent {
  /** The size of its file. */
  readonly bytes: number;
  /** The open file, to be flushed: the bytes that were checked. The caller closes it. */
  readonly file: OpenObject;
}

/** Claims of a request about it. */
interface ManifestClaim {
  readonly version: bigint;
  readonly manifestPath: string;
  readonly manifestSize: bigint | null;
}

/**
 * Reads a staged manifest.
 * @throws CatalogError InvalidInput when there is none, or when it is not the one
 * that the request says it is.
 */
export async function readStaged(
  storage: Storage,
  location: string,
  place: StagedPlace,
  { version, manifestPath, manifestSize }: ManifestClaim,
): Promise<StagedManifest> {
  // An object store has no links, and opening tells whether the object is there.
  const whose = isObjectKey(location) ? 'own' : await storage.ownership(location, place.staging);
  if (whose === 'absent') throw refused(manifestPath, 'does not exist');
  if (whose === 'linked') throw refused(manifestPath, 'leads through a link');
  const file = await open(storage, pathIn(location, place.staging), manifestPath);
  try {
    return { ...(await readClaimed(file, { version, manifestPath, manifestSize })), file };
  } catch (error) {
    file.close();
    throw error;
  }
}

async function open(storage: Storage, path: string, manifestPath: string): Promise<OpenObject> {
  try {
    return await storage.open(path, 'folders');
  } catch (error) {
    if (isAbsent(error)) throw refused(manifestPath, 'does not exist');
    if (error instanceof LinkedPath) throw refused(manifestPath, 'leads through a link');
    // The error of the system for a socket.
    if (errorCode(error) === 'ENXIO') {
      throw refused(manifestPath, 'is not a file');
    }
    throw error;
  }
}

async function readClaimed(
  file: OpenObject,
  { version, manifestPath, manifestSize }: ManifestClaim,
): Promise<Omit<StagedManifest, 'file'>> {
  const bytes = file.plainSize();
  if (bytes === undefined) throw refused(manifestPath, 'is not a file');
  const { manifest, segments } = await read(file, bytes, manifestPath);
  if (manifestSize !== null && manifestSize !== BigInt(bytes)) {
    throw refused(manifestPath, `has ${bytes} bytes, not ${manifestSize} as manifest_size says`);
  }
  if (manifest.version !== BigInt.asUintN(64, version)) {
    throw refused(
      manifestPath,
      `holds the manifest of version ${manifest.version}, not of ${BigInt.asUintN(64, version)}`,
    );
  }
  return { manifest, segments, bytes };
}

async function read(
  file: OpenObject,
  bytes: number,
  manifestPath: string,
): Promise<ManifestContent> {
  try {
    const content = await readOpenManifest(file, bytes);
    const fault = danglingReference(content);
    if (fault !== undefined) throw refused(manifestPath, `cannot be read by Lance: ${fault}`);
    return content;
  } catch (error) {
    if (!(error instanceof LanceManifestError)) throw error;
    throw refused(manifestPath, `is not a Lance manifest: ${error.message}`);
  }
}

/** A version that a Lance client has staged and that can be the next one. */
export interface StagedLanceVersion extends ManifestContent {
  readonly storage: Storage;
  readonly path: ObjectPath;
  readonly table: TableRecord;
  readonly branch: string;
  /** Its base; absent for the first version of a table. */
  readonly base: VersionRecord | undefined;
  /**
   * Reads the manifest of its base; undefined for the first version.
   * @throws LanceManifestError, and the error of the operating system for a file that is not there.
   */
  readonly before: () => Promise<ManifestContent | undefined>;
  /** Absolute path of the file with the manifest. */
  readonly file: string;
  /** What must be on stable storage before the version is committed. */
  readonly flushes: Flushes;
}

/** Adopts what Lance clients wrote to a line without the catalog, before a version is planned. Gives the table as it is then. */
export type AdoptFirst = (
  path: ObjectPath,
  stored: Stored<TableRecord>,
  branch: string,
) => Promise<Stored<TableRecord>>;

/** Checks of a version before it is planned. */
export interface Gates {
  readonly judge?: JudgeStaged;
  readonly adopt?: AdoptFirst;
}

/** Judges a version before it is committed, each time that it is planned. @throws CatalogError for one that may not be. */
export type JudgeStaged = (staged: StagedLanceVersion) => Promise<void>;
