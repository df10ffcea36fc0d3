import { join } from 'node:path';
import { isJsonObject, parseJson, type JsonValue } from '../../../protocol/json.ts';
import type { BranchRecord } from '../../format/records.ts';
import { isAbsent } from '../../../storage/storage-error.ts';
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

/** A version that a tag names which a Lance client wrote down itself. */
interface TagRef {
  readonly branch: string;
  readonly version: bigint;
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
 * The catalog's record of a branch that a Lance client made.
 * @param above The key of the line that it came from: `main`, or a branch's id.
 */
export function branchRecord(id: string, ref: BranchRef, above: string): BranchRecord {
  const { parentBranch: branch, parentVersion: version, manifestBytes, createdMillis } = ref;
  return { id, lineage: [{ branch, key: above, version }], manifestBytes, createdMillis };
}

/** The tags of a table as Lance clients wrote them down. What cannot be read is passed over. */
export async function tagRefs(storage: Storage, location: string): Promise<readonly TagRef[]> {
  return readRefs(storage, location, 'tags', (_, fields) => ({
    branch: textOf(fields['branch']) ?? MAIN,
    version: integerOf(fields['version']) ?? 0n,
  }));
}

/** Removes what Lance clients wrote down of a branch. */
export async function removeBranchRef(
  storage: Storage,
  location: string,
  branch: string,
): Promise<void> {
  const folder = join(location, REFS, 'branches');
  for (const file of await namesInFolder(storage, folder)) {
    if (nameOf(file) === branch) await storage.remove(join(folder, file));
  }
}

type Fields = Readonly<Record<string, JsonValue | undefined>>;

async function readRefs<Ref>(
  storage: Storage,
  location: string,
  kind: 'branches' | 'tags',
  refOf: (name: string, fields: Fields) => Ref,
): Promise<readonly Ref[]> {
  const folder = join(REFS, kind);
  const refs: Ref[] = [];
  for (const file of await namesInFolder(storage, join(location, folder))) {
    const name = nameOf(file);
    const fields =
      name === undefined ? undefined : await readFields(storage, location, join(folder, file));
    if (name !== undefined && fields !== undefined) refs.push(refOf(name, fields));
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
    if (isAbsent(error) || !isSystemError(error)) return undefined;
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
