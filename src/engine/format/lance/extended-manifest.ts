import { PbfWriter } from 'pbf';
import {
  decodeProtobuf,
  encodedFields,
  LanceManifestError,
  uint64Field,
  type EncodedField,
  type FieldReaders,
} from './lance-message.ts';
import { manifestFileOf, manifestParts, section } from './partial-manifest.ts';

/** Fields of the message `Manifest`. */
const FIELDS = 1;
const FRAGMENT = 2;
const READER_FLAGS = 9;
const LAST_FRAGMENT = 11;
const TRANSACTION_FILE = 12;
const TRANSACTION = 21;
/** The field of `DataFragment` that has its id. */
const FRAGMENT_ID = 1;

/** The flag of tables whose fragments say the ids of their rows. */
const STABLE_ROW_IDS = 2n;

/** Operations of the message `Transaction` that bring fragments, which are the field 1 of each: append and overwrite. */
const ADDITIONS: ReadonlySet<number> = new Set([100, 102]);
const ADDED = 1;

/** What one commit adds to a table. */
export interface AddedFragments {
  /** The fields of the table, encoded. */
  readonly fields: Buffer;
  /** Messages `DataFragment` without ids. */
  readonly fragments: readonly Uint8Array[];
  /** Whether fragments say the ids of their rows. */
  readonly hasRowIds: boolean;
}

/**
 * The fragments that a transaction adds.
 * @param file The whole file of its manifest, which was read before.
 * @param transaction The message of the transaction.
 * @throws LanceManifestError
 */
export function addedFragments(file: Buffer, transaction: Uint8Array): AddedFragments {
  const { message } = manifestParts(file);
  const all = [...encodedFields(message)];
  const fields = Buffer.concat(all.filter(({ number }) => number === FIELDS).map(bytesOf));
  const fragments = [...encodedFields(transaction)]
    .filter(({ number }) => ADDITIONS.has(number))
    .flatMap(({ content }) => [...encodedFields(content)])
    .filter(({ number }) => number === ADDED)
    .map(({ content }) => withoutId(content));
  const hasRowIds = (numbersIn(message).flags & STABLE_ROW_IDS) !== 0n;
  return { fields, fragments, hasRowIds };
}

/** A manifest of more fragments. */
interface ExtendedManifest {
  readonly file: Buffer;
  /** The message of its transaction. */
  readonly transaction: Uint8Array;
}

/**
 * A staged manifest with more fragments behind its own. Its transaction adds them as well, since later
 * commits are compared with it.
 * @param file The whole file of the manifest, which was read before.
 * @param transaction The message of its transaction.
 * @param more Messages `DataFragment` without ids.
 * @param name A new name for the transaction file.
 * @throws LanceManifestError
 */
export function extendedManifest(
  file: Buffer,
  transaction: Uint8Array,
  more: readonly Uint8Array[],
  name: string,
): ExtendedManifest {
  const { before, message, footer } = manifestParts(file);
  const fields = [...encodedFields(message)];
  const last = lastFragment(message);
  const extended = extendedTransaction(transaction, more);
  const replaced: Readonly<Record<number, Uint8Array>> = {
    [LAST_FRAGMENT]: numberOf(LAST_FRAGMENT, last + more.length),
    [TRANSACTION_FILE]: messageOf(TRANSACTION_FILE, Buffer.from(name)),
    [TRANSACTION]: numberOf(TRANSACTION, before.byteLength),
  };
  const isInside = fields.some(({ number }) => number === TRANSACTION);
  const added = more.map((fragment, at) => {
    const id = numberOf(FRAGMENT_ID, last + 1 + at);
    return messageOf(FRAGMENT, Buffer.concat([id, fragment]));
  });
  const whole = {
    before: isInside ? Buffer.concat([before, section(extended)]) : before,
    message: Buffer.concat([
      ...fields.map(({ number, bytes }) => replaced[number] ?? bytes),
      ...added,
    ]),
    footer,
  };
  return { file: manifestFileOf(whole), transaction: extended };
}

function extendedTransaction(transaction: Uint8Array, more: readonly Uint8Array[]): Buffer {
  const fields = [...encodedFields(transaction)];
  if (!fields.some(({ number }) => ADDITIONS.has(number))) {
    throw new LanceManifestError('its transaction adds no fragments');
  }
  const added = more.map((fragment) => messageOf(ADDED, fragment));
  return Buffer.concat(
    fields.map(({ number, bytes, content }) =>
      ADDITIONS.has(number) ? messageOf(number, Buffer.concat([content, ...added])) : bytes,
    ),
  );
}

function withoutId(fragment: Uint8Array): Uint8Array {
  const fields = [...encodedFields(fragment)];
  return Buffer.concat(fields.filter(({ number }) => number !== FRAGMENT_ID).map(bytesOf));
}

function bytesOf({ bytes }: EncodedField): Uint8Array {
  return bytes;
}

interface Numbers {
  flags: bigint;
  last: bigint | null;
}

const numberReaders: FieldReaders<Numbers> = {
  [READER_FLAGS]: (numbers, pbf) => (numbers.flags = uint64Field(pbf)),
  [LAST_FRAGMENT]: (numbers, pbf) => (numbers.last = uint64Field(pbf)),
};

function numbersIn(message: Uint8Array): Numbers {
  return decodeProtobuf<Numbers>(message, numberReaders, { flags: 0n, last: null });
}

/** The highest id of a fragment so far. A manifest that adds fragments has one. */
function lastFragment(message: Uint8Array): number {
  const { last } = numbersIn(message);
  if (last === null)
    throw new LanceManifestError('it does not say the highest id of its fragments');
  return Number(last);
}

function numberOf(field: number, value: number): Uint8Array {
  const pbf = new PbfWriter();
  pbf.writeVarintField(field, value);
  return pbf.finish();
}

function messageOf(field: number, content: Uint8Array): Uint8Array {
  const pbf = new PbfWriter();
  pbf.writeBytesField(field, content);
  return pbf.finish();
}
