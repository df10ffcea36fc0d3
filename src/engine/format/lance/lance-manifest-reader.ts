import type { PbfReader } from 'pbf';
import type {
  LanceBase,
  LanceDataFile,
  LanceDeletions,
  LanceField,
  LanceFragment,
  LanceIndexSegment,
  LanceManifest,
} from './lance-manifest.ts';
import {
  bytesField,
  LanceManifestError,
  rowCountField,
  entryField,
  innerMessage,
  uint64Field,
  decodeProtobuf,
  smallField,
  smallFields,
  utf8Field,
  type Draft,
  type FieldReaders,
} from './lance-message.ts';

/**
 * Reads the parts of a Lance manifest that the catalog needs (messages `Manifest`,
 * `DataFragment` and `Field` of the format's `table.proto` and `file.proto`).
 * Fields of the message that are not known are passed over, as protobuf means it.
 * @param message The message itself, without what lies around it in its file.
 * @throws LanceManifestError
 */
export function decodeLanceManifest(message: Uint8Array): LanceManifest {
  return decodeProtobuf(message, manifestFields, emptyManifest());
}

/**
 * The segments of a table's indices. Segments of one index have the same name.
 * @param section The message that a manifest says the place of.
 * @throws LanceManifestError
 */
export function decodeIndices(section: Uint8Array): readonly LanceIndexSegment[] {
  const fields: FieldReaders<LanceIndexSegment[]> = {
    1: (all, pbf) => all.push(innerMessage(pbf, segmentFields, { uuid: '', name: '' })),
  };
  return decodeProtobuf(section, fields, []);
}

const segmentFields: FieldReaders<Draft<LanceIndexSegment>> = {
  1: (segment, pbf) => (segment.uuid = innerMessage(pbf, uuidFields, { text: '' }).text),
  3: (segment, pbf) => (segment.name = utf8Field(pbf)),
  9: (segment, pbf) => (segment.base = smallField(pbf)),
};

const uuidFields: FieldReaders<{ text: string }> = {
  1: (uuid, pbf) => (uuid.text = uuidOf(bytesField(pbf))),
};

/** @throws LanceManifestError for another number of bytes. */
function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  if (hex.length !== 32) throw new LanceManifestError('the id of an index has not 16 bytes');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

type ManifestDraft = Omit<Draft<LanceManifest>, 'fields' | 'fragments' | 'metadata' | 'bases'> & {
  readonly fields: LanceField[];
  readonly bases: Map<number, LanceBase>;
  readonly fragments: LanceFragment[];
  readonly metadata: Map<string, string>;
};

function emptyManifest(): ManifestDraft {
  const maps = { metadata: new Map<string, string>(), bases: new Map<number, LanceBase>() };
  const lists = { fields: [], fragments: [], ...maps };
  const absent = { branch: null, timestampMillis: null, indices: null, transactionFile: null };
  return { version: 0n, readerFlags: 0n, transaction: null, ...absent, ...lists };
}

const manifestFields: FieldReaders<ManifestDraft> = {
  1: (manifest, pbf) => manifest.fields.push(innerMessage(pbf, schemaFields, emptyField())),
  2: (manifest, pbf) => manifest.fragments.push(innerMessage(pbf, fragmentFields, noFragment())),
  3: (manifest, pbf) => (manifest.version = uint64Field(pbf)),
  5: (manifest, pbf) => manifest.metadata.set(...entryField(pbf)),
  6: (manifest, pbf) => (manifest.indices = uint64Field(pbf)),
  7: (manifest, pbf) => (manifest.timestampMillis = millisOf(pbf)),
  9: (manifest, pbf) => (manifest.readerFlags = uint64Field(pbf)),
  12: (manifest, pbf) => (manifest.transactionFile = utf8Field(pbf)),
  18: (manifest, pbf) => manifest.bases.set(...baseOf(pbf)),
  20: (manifest, pbf) => (manifest.branch = utf8Field(pbf)),
  21: (manifest, pbf) => (manifest.transaction = uint64Field(pbf)),
};

interface BaseDraft extends Draft<LanceBase> {
  id: number;
}

const baseFields: FieldReaders<BaseDraft> = {
  1: (base, pbf) => (base.id = smallField(pbf)),
  3: (base, pbf) => (base.isTable = uint64Field(pbf) !== 0n),
  4: (base, pbf) => (base.path = utf8Field(pbf)),
};

function baseOf(pbf: PbfReader): readonly [number, LanceBase] {
  const { id, ...base } = innerMessage(pbf, baseFields, { id: 0, isTable: false, path: '' });
  return [id, base];
}

type FieldDraft = Omit<Draft<LanceField>, 'metadata'> & { readonly metadata: Map<string, string> };

function emptyField(): FieldDraft {
  const texts = { name: '', type: '', metadata: new Map<string, string>() };
  return { id: 0, parent: 0, nullable: false, ...texts };
}

const schemaFields: FieldReaders<FieldDraft> = {
  2: (field, pbf) => (field.name = utf8Field(pbf)),
  3: (field, pbf) => (field.id = smallField(pbf)),
  4: (field, pbf) => (field.parent = smallField(pbf)),
  5: (field, pbf) => (field.type = utf8Field(pbf)),
  6: (field, pbf) => (field.nullable = uint64Field(pbf) !== 0n),
  10: (field, pbf) => field.metadata.set(...entryField(pbf)),
};

type FragmentDraft = Omit<Draft<LanceFragment>, 'files'> & { readonly files: LanceDataFile[] };

function noFragment(): FragmentDraft {
  return { id: 0n, files: [], physicalRows: 0n, deletions: null, hasRowIds: false };
}

const fragmentFields: FieldReaders<FragmentDraft> = {
  1: (fragment, pbf) => (fragment.id = uint64Field(pbf)),
  2: (fragment, pbf) => fragment.files.push(innerMessage(pbf, dataFileFields, noFile())),
  3: (fragment, pbf) => (fragment.deletions = deletionsOf(pbf)),
  4: (fragment, pbf) => (fragment.physicalRows = rowCountField(pbf)),
  5: (fragment) => (fragment.hasRowIds = true),
  6: (fragment) => (fragment.hasRowIds = true),
};

type DataFileDraft = Omit<Draft<LanceDataFile>, 'fields'> & { readonly fields: number[] };

function noFile(): DataFileDraft {
  return { path: '', fields: [], columns: 0, major: 0, minor: 0, bytes: null };
}

const dataFileFields: FieldReaders<DataFileDraft> = {
  1: (file, pbf) => (file.path = utf8Field(pbf)),
  2: (file, pbf) => {
    for (const number of smallFields(pbf)) file.fields.push(number);
  },
  3: (file, pbf) => {
    for (const _ of smallFields(pbf)) file.columns++;
  },
  4: (file, pbf) => (file.major = smallField(pbf)),
  5: (file, pbf) => (file.minor = smallField(pbf)),
  6: (file, pbf) => (file.bytes = rowCountField(pbf) || null),
  7: (file, pbf) => (file.base = smallField(pbf)),
};

interface DeletionDraft {
  kind: bigint;
  version: bigint;
  id: bigint;
  rows: bigint;
  base?: number;
}

const deletionFields: FieldReaders<DeletionDraft> = {
  1: (file, pbf) => (file.kind = uint64Field(pbf)),
  2: (file, pbf) => (file.version = uint64Field(pbf)),
  3: (file, pbf) => (file.id = uint64Field(pbf)),
  4: (file, pbf) => (file.rows = rowCountField(pbf)),
  7: (file, pbf) => (file.base = smallField(pbf)),
};

function deletionsOf(pbf: PbfReader): LanceDeletions {
  const none: DeletionDraft = { kind: 0n, version: 0n, id: 0n, rows: 0n };
  const { kind, version, id, rows, base } = innerMessage(pbf, deletionFields, none);
  const name = `${version}-${id}.${kind === 0n ? 'arrow' : 'bin'}`;
  return { name, rows, ...(base !== undefined && { base }) };
}

const NANOS_PER_MILLI = 1_000_000;

interface TimeDraft {
  seconds: number;
  nanos: number;
}

const timeFields: FieldReaders<TimeDraft> = {
  1: (time, pbf) => (time.seconds = Number(BigInt.asIntN(64, uint64Field(pbf)))),
  2: (time, pbf) => (time.nanos = smallField(pbf)),
};

/** Greatest time of a `Date`. */
const LAST_MILLIS = 8.64e15;

/** A `google.protobuf.Timestamp` in ms; null if out of range. */
function millisOf(pbf: PbfReader): number | null {
  const { seconds, nanos } = innerMessage(pbf, timeFields, { seconds: 0, nanos: 0 });
  const millis = seconds * 1000 + Math.floor(nanos / NANOS_PER_MILLI);
  return Math.abs(millis) <= LAST_MILLIS ? millis : null;
}
