import type { ManifestContent } from './manifest-file.ts';
import type { LanceDataFile, LanceField, LanceFragment, LanceManifest } from './lance-manifest.ts';

/** Greatest id of a fragment, and greatest number of its rows: an address of a row has 32 bits for each. */
const MAX_UINT32 = 2n ** 32n - 1n;

/** The reader flag of tables whose fragments list the ids of their rows. */
const STABLE_ROW_IDS = 2n;

/** Logical types of fields that hold others. */
const NESTED = /^(?:list|large_list|map)(?:\.struct)?$/;
const SIZED = /^fixed_size_(?:list|binary):/;
const SIZE = /:[1-9]\d{0,8}$/;

/**
 * The first reference of a manifest to a part that it does not have, or that it has twice; undefined if
 * there is none. The Lance library panics on such a manifest, or fails with an error that names no file.
 * Fields of files that the schema does not have are allowed: a dropped column leaves them.
 * @returns A sentence without a full stop.
 */
export function danglingReference(content: ManifestContent): string | undefined {
  for (const fault of faultsOf(content)) return fault;
  return undefined;
}

function* faultsOf({ manifest, segments }: ManifestContent): Generator<string> {
  yield* schemaFaults(manifest);
  yield* fragmentFaults(manifest);
  for (const fragment of manifest.fragments) {
    for (const file of fragment.files)
      if (!isSoundFile(manifest, file)) yield* fileFaults(manifest, fragment, file);
    if (fragment.deletions !== null) yield* deletionFaults(manifest, fragment);
  }
  yield* versionFaults(manifest);
  yield* rowIdFaults(manifest);
  for (const { name, uuid, base } of segments)
    yield* baseFaults(manifest, base, `the segment ${uuid} of index ${JSON.stringify(name)}`);
}

function* schemaFaults({ fields }: LanceManifest): Generator<string> {
  const ids = new Set<number>();
  const names = new Set<string>();
  const parents = new Set(fields.map(({ parent }) => parent));
  for (const field of fields) {
    const name = `field ${JSON.stringify(field.name)}`;
    if (field.id < 0) yield `${name} has the id ${field.id}`;
    if (ids.has(field.id)) yield `${name} has the id ${field.id}, which another field has`;
    const key = JSON.stringify([Math.max(field.parent, -1), field.name]);
    if (names.has(key)) yield `${name} is there twice`;
    yield* typeFaults(field, parents.has(field.id), name);
    ids.add(field.id);
    names.add(key);
  }
  for (const { id, name, parent } of fields) {
    if (parent >= 0 && (parent === id || !ids.has(parent)))
      yield `field ${JSON.stringify(name)} lies in field ${parent}, which is not another field of the schema`;
  }
}

function* typeFaults({ type }: LanceField, isParent: boolean, name: string): Generator<string> {
  if (NESTED.test(type) && !isParent)
    yield `${name} has the type ${type}, and no field of its items`;
  if (SIZED.test(type) && !SIZE.test(type)) yield `${name} has the type ${type} without a size`;
}

function* fragmentFaults({ fragments }: LanceManifest): Generator<string> {
  const ids = new Set<bigint>();
  for (const { id, files, physicalRows } of fragments) {
    if (id > MAX_UINT32) yield `fragment ${id} has an id above ${MAX_UINT32}`;
    if (ids.has(id)) yield `fragment ${id} is there twice`;
    if (files.length === 0) yield `fragment ${id} has no data file`;
    if (physicalRows > MAX_UINT32) yield `fragment ${id} has more than ${MAX_UINT32} rows`;
    ids.add(id);
  }
}

/** Whether a data file has none of the faults of `fileFaults`: most have none, and there are many. */
function isSoundFile({ bases }: LanceManifest, file: LanceDataFile): boolean {
  if (file.base !== undefined && !bases.has(file.base)) return false;
  return !hasFieldTwice(file) && !lacksColumns(file);
}

function* fileFaults(
  manifest: LanceManifest,
  fragment: LanceFragment,
  file: LanceDataFile,
): Generator<string> {
  const name = `data file ${file.path} of fragment ${fragment.id}`;
  yield* baseFaults(manifest, file.base, name);
  if (hasFieldTwice(file)) yield `${name} has a field twice`;
  if (lacksColumns(file))
    yield `${name} has ${file.fields.length} fields and ${file.columns} columns`;
}

function hasFieldTwice({ fields }: LanceDataFile): boolean {
  // Fields mostly stand in their order.
  if (fields.every((field, at) => at === 0 || field > fields[at - 1]!)) return false;
  const used = fields.filter((field) => field >= 0);
  return new Set(used).size < used.length;
}

function lacksColumns(file: LanceDataFile): boolean {
  return file.columns !== file.fields.length && versionOf(file) !== LEGACY;
}

function* deletionFaults(
  manifest: LanceManifest,
  { id, deletions, physicalRows }: LanceFragment,
): Generator<string> {
  if (deletions === null) return;
  yield* baseFaults(manifest, deletions.base, `deletion file ${id}-${deletions.name}`);
  if (physicalRows > 0n && deletions.rows > physicalRows)
    yield `deletion file ${id}-${deletions.name} deletes ${deletions.rows} of ${physicalRows} rows`;
}

function* baseFaults(
  { bases }: LanceManifest,
  base: number | undefined,
  name: string,
): Generator<string> {
  if (base !== undefined && !bases.has(base))
    yield `${name} has the base path ${base}, which the manifest does not define`;
}

const LEGACY = '0.1';

/** Lance writes all data files of a version in one format. */
function* versionFaults({ fragments }: LanceManifest): Generator<string> {
  const first = fragments.find(({ files }) => files.length > 0)?.files[0];
  if (first === undefined) return;
  const isOther = (file: LanceDataFile): boolean =>
    (file.major !== first.major || file.minor !== first.minor) &&
    versionOf(file) !== versionOf(first);
  const other = fragments.find(({ files }) => files.some(isOther))?.files.find(isOther);
  if (other !== undefined)
    yield `data file ${other.path} has the format ${versionOf(other)}, and ${first.path} the format ${versionOf(first)}`;
}

/** The format of a data file: before 0.3 there was one, and 0.3 is the name that 2.0 had at first. */
function versionOf({ major, minor }: LanceDataFile): string {
  if (major === 0) return minor < 3 ? LEGACY : '2.0';
  return `${major}.${minor}`;
}

function* rowIdFaults({ fragments, readerFlags }: LanceManifest): Generator<string> {
  const without = fragments.find(({ hasRowIds }) => !hasRowIds);
  const isNeeded =
    (readerFlags & STABLE_ROW_IDS) !== 0n || fragments.some(({ hasRowIds }) => hasRowIds);
  if (isNeeded && without !== undefined)
    yield `fragment ${without.id} has no row ids, which the fragments of this table have`;
}
