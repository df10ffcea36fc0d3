import type { StoredFile } from '../../arrow/sealed/file-seal.ts';
import type { SealedEnd } from '../../arrow/sealed/sealing-writer.ts';
import { encodeSchema } from '../../arrow/ipc/schema-encoding.ts';
import { decodeFragments, encodeFragments } from './fragment-rows.ts';
import { newFragmentList, ownPath } from './layout.ts';
import {
  fragmentsOf,
  freshFragments,
  noteHeld,
  manifestLayout,
  needsList,
  regrouped,
  type FragmentRange,
  type ManifestLayout,
} from './manifest-layout.ts';
import { SharedFacts } from './shared-facts.ts';
import type {
  Snapshot,
  Fragment,
  FragmentIndex,
  FragmentList,
  IndexDefinition,
} from './snapshot.ts';

/** One version of a table as stored in its manifest. */
export type Manifest = Omit<Snapshot, 'tableId' | 'storage' | 'folder' | 'rows'>;

const KEYS = {
  version: 'arrowgate.version',
  timestamp: 'arrowgate.timestamp_millis',
  schema: 'arrowgate.schema',
  fieldIds: 'arrowgate.field_ids',
  nextFieldId: 'arrowgate.next_field_id',
  nextRowId: 'arrowgate.next_row_id',
  indices: 'arrowgate.indices',
  /** JSON: path, bytes and seal of each list. */
  lists: 'arrowgate.lists',
  /** JSON: file, start and count of each range. Absent when the manifest holds all fragments. */
  ranges: 'arrowgate.ranges',
  /** JSON: keys whose texts are those of a list, with the position of the list. */
  shared: 'arrowgate.shared',
} as const;

/** A manifest of more bytes names its fragments in a list: a disk stores no less than a block. */
const BLOCK = 4096;

/** A manifest as bytes. */
interface EncodedManifest extends SealedEnd {
  /** The lists that it names. */
  readonly lists: readonly FragmentList[];
  /** Bytes of the one among them that is new, which has to be written as well. */
  readonly list?: EncodedList;
}

/** A new list as bytes. */
export interface EncodedList {
  /** In the table's folder. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The name of a list in a manifest. */
export type NamedList = Pick<FragmentList, 'path' | 'bytes' | 'seal'>;

/** Reads a list that a manifest names. @throws DamagedFile, an error that `isMissing`. */
export type ListSource = (list: NamedList) => Promise<FragmentList>;

/**
 * Encodes a manifest as an Arrow file: one row per data file, and facts of the whole version in the
 * schema's metadata (the table's schema as a base64 IPC schema message). Fragments that lie in
 * `lists` are named by ranges. When the others are too many they get a list.
 */
export function encodeManifest(manifest: Manifest): EncodedManifest {
  const { fragments, lists = [] } = manifest;
  const layout = manifestLayout(fragments, lists);
  const encoded = encodeLayout(manifest, layout);
  const fresh = freshFragments(layout, encoded.bytes.length);
  noteHeld(layout.own);
  const isLarge = encoded.bytes.length - statisticsBytes(fresh) > BLOCK;
  if (!needsList(layout, fresh, isLarge)) return { ...encoded, lists: layout.lists };
  const { kept, gathered } = regrouped(layout, fragments, fresh);
  const { list, bytes } = encodeList(gathered, unlistedFacts(manifest, kept));
  const all = manifestLayout(fragments, [...kept, list]);
  const written = { path: list.path, bytes };
  return { ...encodeLayout(manifest, all), lists: all.lists, list: written };
}

/**
 * Decodes a manifest.
 * @param stored Where the bytes were read, and the seal that they must match.
 * @param listOf Reads a list.
 * @param block The block of a detached seal.
 * @throws DamagedFile, ArrowError when the bytes are not an Arrow file, Error when they are no manifest.
 */
export async function decodeManifest(
  bytes: Uint8Array,
  stored: StoredFile,
  listOf: ListSource,
  block?: Uint8Array,
): Promise<Manifest> {
  const { facts, fragments: own } = await decodeFragments(bytes, stored, block);
  const lists = await Promise.all(listsOf(facts).map(listOf));
  noteHeld(own);
  const ranges = rangesOf(facts) ?? [{ file: 0, start: 0, count: own.length }];
  const shared = new SharedFacts(facts, lists, facts.get(KEYS.shared));
  const text = (key: string): string => shared.require(key);
  const indices = indicesOfText(shared.find(KEYS.indices));
  return {
    version: BigInt(text(KEYS.version)),
    timestampMillis: Number(text(KEYS.timestamp)),
    schema: shared.schema(KEYS.schema),
    fieldIds: JSON.parse(text(KEYS.fieldIds)) as number[],
    nextFieldId: Number(text(KEYS.nextFieldId)),
    nextRowId: BigInt(text(KEYS.nextRowId)),
    fragments: withIndexFiles(fragmentsOf({ lists, own, ranges }), indices),
    ...(indices === undefined ? {} : { indices: indices.definitions }),
    ...(lists.length === 0 ? {} : { lists }),
  };
}

/**
 * Decodes a list of fragments.
 * @throws as `decodeManifest`.
 */
export async function decodeList(
  bytes: Uint8Array,
  stored: StoredFile,
  named: NamedList,
): Promise<FragmentList> {
  const { path, seal } = named;
  const { facts, fragments } = await decodeFragments(bytes, stored);
  noteHeld(fragments);
  return { path, bytes: bytes.length, seal, facts, fragments };
}

/** Most of what fragments take in a manifest. */
function statisticsBytes(fragments: ReadonlySet<Fragment>): number {
  let bytes = 0;
  for (const { files } of fragments) {
    for (const { statistics } of files) bytes += statistics?.byteLength ?? 0;
  }
  return bytes;
}

function encodeList(fragments: readonly Fragment[], facts: ReadonlyMap<string, string>) {
  const { bytes, seal } = encodeFragments({ facts, fragments });
  const path = newFragmentList();
  const list: FragmentList = { path, bytes: bytes.length, seal, facts, fragments };
  return { list, bytes };
}

function encodeLayout(manifest: Manifest, { lists, own, ranges }: ManifestLayout): SealedEnd {
  const shareable = sharedFacts(manifest);
  const shared = new Map<string, number>();
  for (const [key, text] of shareable) {
    const at = lists.findIndex(({ facts }) => facts.get(key) === text);
    if (at >= 0) shared.set(key, at);
  }
  const facts = new Map([
    [KEYS.version, String(manifest.version)],
    [KEYS.timestamp, String(manifest.timestampMillis)],
    [KEYS.fieldIds, JSON.stringify(manifest.fieldIds)],
    [KEYS.nextFieldId, String(manifest.nextFieldId)],
    [KEYS.nextRowId, String(manifest.nextRowId)],
    ...shareable.filter(([key]) => !shared.has(key)),
    ...(lists.length === 0 ? [] : listFacts(lists, ranges, shared)),
  ]);
  return encodeFragments({ facts, fragments: own });
}

function listFacts(
  lists: readonly FragmentList[],
  ranges: readonly FragmentRange[],
  shared: ReadonlyMap<string, number>,
): readonly [string, string][] {
  const named = lists.map(({ path, bytes, seal }) => [path, bytes, seal]);
  const numbers = ranges.map(({ file, start, count }) => [file, start, count]);
  return [
    [KEYS.lists, JSON.stringify(named)],
    [KEYS.ranges, JSON.stringify(numbers)],
    [KEYS.shared, JSON.stringify(Object.fromEntries(shared))],
  ];
}

function listsOf(facts: ReadonlyMap<string, string>): readonly NamedList[] {
  const named = JSON.parse(facts.get(KEYS.lists) ?? '[]') as [string, number, string][];
  return named.map(([path, bytes, seal]) => ({ path: ownPath(path), bytes, seal }));
}

function rangesOf(facts: ReadonlyMap<string, string>): readonly FragmentRange[] | undefined {
  const text = facts.get(KEYS.ranges);
  const numbers = text === undefined ? undefined : (JSON.parse(text) as [number, number, number][]);
  return numbers?.map(([file, start, count]) => ({ file, start, count }));
}

/** Facts of a version that seldom change, so that they can be those of a list. */
function sharedFacts({ schema, indices = [] }: Manifest): readonly (readonly [string, string])[] {
  const listed: ManifestIndices = { definitions: indices };
  return [
    [KEYS.schema, Buffer.from(encodeSchema(schema)).toString('base64')],
    ...(indices.length === 0 ? [] : [[KEYS.indices, JSON.stringify(listed)] as const]),
  ];
}

function unlistedFacts(
  manifest: Manifest,
  lists: readonly FragmentList[],
): ReadonlyMap<string, string> {
  const isListed = ([key, text]: readonly [string, string]) =>
    lists.some(({ facts }) => facts.get(key) === text);
  return new Map(sharedFacts(manifest).filter((fact) => !isListed(fact)));
}

/** The indices of a version as stored in its manifest. */
interface ManifestIndices {
  readonly definitions: readonly IndexDefinition[];
  /** Index files by the position of their fragment, in older manifests. */
  readonly files?: readonly (readonly [number, readonly FragmentIndex[]])[];
}

function indicesOfText(text: string | undefined): ManifestIndices | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as ManifestIndices);
}

/** Fragments with their index files, which older manifests hold apart from them. */
function withIndexFiles(
  fragments: readonly Fragment[],
  indices: ManifestIndices | undefined,
): readonly Fragment[] {
  if (indices?.files === undefined) return fragments;
  const files = new Map(indices.files);
  return fragments.map((fragment, position) => {
    const cached = files.get(position);
    for (const { path } of cached ?? []) ownPath(path);
    return cached === undefined ? fragment : { ...fragment, indices: cached };
  });
}
