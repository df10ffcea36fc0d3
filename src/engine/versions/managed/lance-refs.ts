import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isJsonObject, parseJson, type JsonValue } from '../../../protocol/json.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { BranchRecord, TagRecord } from '../../format/records.ts';
import type { FolderTag, TagFolder } from '../lines/tag-folder.ts';
import { isAbsent, isOutage, unlessMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { readPlain } from '../../format/lance/plain-file.ts';
import { namesInFolder } from '../../format/lance/versions.ts';
import { branchNameFault } from '../../format/branch-name.ts';
import { MAIN } from '../../format/chain.ts';

/** File of a Lance client about a branch that it made. */
export interface BranchRef {
  readonly name: string;
  readonly parentBranch: string;
  readonly parentVersion: bigint;
  readonly createdMillis: number;
  readonly manifestBytes: number;
}

const REFS = '_refs';
const SUFFIX = '.json';

/** The branches of a table as Lance clients wrote them down. What cannot be read, or no branch can be called, is passed over. */
export async function branchRefs(
  storage: Storage,
  location: string,
): Promise<ReadonlyMap<string, BranchRef>> {
  const refs = await readRefs(storage, location, 'branches', branchOf);
  const named = refs.filter(({ name }) => branchNameFault(name) === undefined);
  return new Map(named.map((ref) => [ref.name, ref]));
}

/**
 * Writes the file of a branch that has begun, unless it is there: the process that was to write it may
 * have ended. Returns whether it wrote the file.
 */
export async function requireBranchRef(
  storage: Storage,
  location: string,
  { name, ...ref }: BranchRef,
): Promise<boolean> {
  const is = (other: string): boolean => other === name;
  const found = await readRefs(storage, location, 'branches', branchOf, is);
  if (found.length > 0) return false;
  const path = await refPath(storage, location, 'branches', name);
  const above = ref.parentBranch === MAIN ? [] : await mappingOf(storage, location, ref);
  const id = randomUUID().replaceAll('-', '');
  const fields = {
    parentBranch: ref.parentBranch === MAIN ? null : ref.parentBranch,
    identifier: { version_mapping: [...above, [Number(ref.parentVersion), id]] },
    parentVersion: Number(ref.parentVersion),
    createAt: Math.floor(ref.createdMillis / 1000),
    manifestSize: ref.manifestBytes,
    metadata: {},
  };
  await storage.replace(path, Buffer.from(JSON.stringify(fields, null, 2)));
  return true;
}

/** The versions with which the branches above a branch begin, and their ids, from main on. */
async function mappingOf(
  storage: Storage,
  location: string,
  { parentBranch }: Pick<BranchRef, 'parentBranch'>,
): Promise<readonly JsonValue[]> {
  const is = (other: string): boolean => other === parentBranch;
  const identifier = (_: string, fields: Fields) => fields['identifier'];
  const [found] = await readRefs(storage, location, 'branches', identifier, is);
  const mapping = isJsonObject(found ?? null) ? (found as Fields)['version_mapping'] : undefined;
  return Array.isArray(mapping) ? mapping : [];
}

/** The path of the file of a new branch or tag. @throws CatalogError InvalidTableState for a folder behind a link */
async function refPath(
  storage: Storage,
  location: string,
  kind: 'branches' | 'tags',
  name: string,
  mode?: number,
): Promise<string> {
  const folder = await ownFolder(storage, location, kind);
  await storage.folders?.make(folder, mode);
  return join(folder, `${encodeURIComponent(name)}${SUFFIX}`);
}

async function ownFolder(
  storage: Storage,
  location: string,
  kind: 'branches' | 'tags',
): Promise<string> {
  const folder = join(REFS, kind);
  if ((await storage.ownership(location, folder)) !== 'linked') return join(location, folder);
  throw new CatalogError(
    'InvalidTableState',
    `the folder ${folder} of the table is reached through a link: replace the link by a folder`,
  );
}

/**
 * The catalog's record of a branch that a Lance client made.
 * @param above The key of the line that it came from: `main`, or a branch's id.
 */
export function branchRecord(id: string, ref: BranchRef, above: string): BranchRecord {
  const { parentBranch: branch, parentVersion: version, manifestBytes, createdMillis } = ref;
  return { id, lineage: [{ branch, key: above, version }], manifestBytes, createdMillis };
}

/** The tags of a table as they stand in its folder. What cannot be read is passed over. */
export async function tagRefs(storage: Storage, location: string): Promise<readonly FolderTag[]> {
  return readRefs(storage, location, 'tags', tagOf);
}

/** The tags in the folders of tables, as files that Lance clients read and write. */
export class LanceTagFolder implements TagFolder {
  readonly #storage: Storage;
  readonly #mode: number | undefined;

  /** @param mode Of folders that are made; the umask decides if undefined. */
  constructor(storage: Storage, mode: number | undefined) {
    this.#storage = storage;
    this.#mode = mode;
  }

  async all(location: string): Promise<readonly FolderTag[]> {
    return tagRefs(this.#storage, location);
  }

  async find(location: string, name: string): Promise<TagRecord | undefined> {
    const is = (other: string): boolean => other === name;
    return (await readRefs(this.#storage, location, 'tags', tagOf, is))[0]?.tag;
  }

  async write(location: string, name: string, tag: TagRecord): Promise<void> {
    const path = await refPath(this.#storage, location, 'tags', name, this.#mode);
    await this.#storage.replace(path, Buffer.from(tagFile(tag)));
  }

  async remove(location: string, name: string): Promise<void> {
    await removeRefs(this.#storage, await ownFolder(this.#storage, location, 'tags'), name);
  }
}

/** The file of a tag as Lance writes it. Versions of tables are small enough for numbers of JSON. */
function tagFile({ branch, version, manifestBytes, createdMillis, updatedMillis }: TagRecord) {
  const fields = {
    branch,
    version: Number(version),
    createdAt: new Date(createdMillis).toISOString(),
    updatedAt: new Date(updatedMillis).toISOString(),
    manifestSize: manifestBytes,
    metadata: {},
  };
  return JSON.stringify(fields, null, 2);
}

function tagOf(name: string, fields: Fields): FolderTag {
  const branch = textOf(fields['branch']) ?? MAIN;
  const tag = {
    branch: branch === MAIN ? null : branch,
    version: integerOf(fields['version']) ?? 0n,
    manifestBytes: Number(integerOf(fields['manifestSize']) ?? 0n),
    createdMillis: millisOf(fields['createdAt']),
    updatedMillis: millisOf(fields['updatedAt']),
  };
  return { name, tag };
}

/** A moment of RFC 3339; 0 for one that older clients did not write down. */
function millisOf(value: JsonValue | undefined): number {
  const millis = typeof value === 'string' ? Date.parse(value) : 0;
  return Number.isFinite(millis) ? millis : 0;
}

/** Removes what Lance clients wrote down of a branch. */
export async function removeBranchRef(
  storage: Storage,
  location: string,
  branch: string,
): Promise<void> {
  await removeRefs(storage, join(location, REFS, 'branches'), branch);
}

async function removeRefs(storage: Storage, folder: string, name: string): Promise<void> {
  for (const file of await namesInFolder(storage, folder)) {
    if (nameOf(file) === name) await storage.remove(join(folder, file));
  }
  // Lance clients make the folder with their first branch or tag.
  await unlessMissing(storage.flush(folder));
}

type Fields = Readonly<Record<string, JsonValue | undefined>>;

async function readRefs<Ref>(
  storage: Storage,
  location: string,
  kind: 'branches' | 'tags',
  refOf: (name: string, fields: Fields) => Ref,
  isAsked: (name: string) => boolean = () => true,
): Promise<readonly Ref[]> {
  const folder = join(REFS, kind);
  const refs: Ref[] = [];
  for (const file of await namesInFolder(storage, join(location, folder))) {
    const name = nameOf(file);
    if (name === undefined || !isAsked(name)) continue;
    const fields = await readFields(storage, location, join(folder, file));
    if (fields !== undefined) refs.push(refOf(name, fields));
  }
  return refs;
}

function branchOf(name: string, fields: Fields): BranchRef {
  return {
    name,
    parentBranch: textOf(fields['parentBranch']) ?? MAIN,
    parentVersion: integerOf(fields['parentVersion']) ?? 0n,
    createdMillis: Number(integerOf(fields['createAt']) ?? 0n) * 1000,
    manifestBytes: Number(integerOf(fields['manifestSize']) ?? 0n),
  };
}

/** A name as the name of a file: what a path cannot hold is escaped, by some clients twice. */
function nameOf(file: string): string | undefined {
  if (!file.endsWith(SUFFIX)) return undefined;
  try {
    return decodeURIComponent(decodeURIComponent(file.slice(0, -SUFFIX.length)));
  } catch {
    return undefined;
  }
}

/** Files about a branch or a tag have a few hundred bytes. */
const MOST_BYTES = 2 ** 20;

async function readFields(
  storage: Storage,
  location: string,
  file: string,
): Promise<Fields | undefined> {
  try {
    if ((await storage.ownership(location, file)) !== 'own') return undefined;
    const bytes = await readPlain(storage, join(location, file), MOST_BYTES);
    const value = bytes === null ? null : parseJson(bytes.toString());
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    // Bytes that are no JSON come from no client that finished.
    if (isAbsent(error) || !(isSystemError(error) || isOutage(error))) return undefined;
    throw error;
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function integerOf(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}
