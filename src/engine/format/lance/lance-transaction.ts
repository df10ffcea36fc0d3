import { basename, dirname, join } from 'node:path';
import type { LanceManifest } from './lance-manifest.ts';
import {
  innerMessage,
  LanceManifestError,
  numberField,
  readMessage,
  smallFields,
  textField,
  type Draft,
  type FieldReaders,
} from './lance-message.ts';
import { readManifestPart } from './manifest-file.ts';
import { readPlain } from './plain-file.ts';

/** What a Lance client says that it did (the field of `Transaction` in the format's `transaction.proto`). */
const kinds = {
  100: 'append',
  101: 'delete',
  102: 'overwrite',
  103: 'create_index',
  104: 'rewrite',
  105: 'merge',
  106: 'restore',
  107: 'reserve_fragments',
  108: 'update',
  109: 'project',
  110: 'update_config',
  111: 'data_replacement',
  113: 'clone',
} as const;

export type LanceChange = (typeof kinds)[keyof typeof kinds];

/** The transaction of a Lance client. */
export interface LanceTransaction {
  /** What tells it from others, however often it is tried; null where the client did not say. */
  readonly id: string | null;
  /** Null where the client did not say, or did something that is not known. */
  readonly change: LanceChange | null;
  /** The predicate of a delete, as its client wrote it. */
  readonly predicate?: string;
  /** Ids of the fields that an update gave other values, as far as its client said. */
  readonly modified?: readonly number[];
  /** What a new branch is a copy of; absent of any other. */
  readonly origin?: LanceOrigin;
}

/** A version of a branch; null for that of main. */
export interface LanceOrigin {
  readonly branch: string | null;
  readonly version: bigint;
}

/** Nobody's transaction is longer. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * The transaction that made a manifest, as its writer says.
 * @param path The manifest's file: a branch has the files of its transactions beside its versions.
 */
export async function lanceTransaction(
  path: string,
  manifest: Pick<LanceManifest, 'transaction' | 'transactionFile'>,
): Promise<LanceTransaction> {
  const id = manifest.transactionFile;
  try {
    const message = await messageOf(path, manifest);
    return { id, ...(message === null ? { change: null } : changeOf(message)) };
  } catch (error) {
    // What cannot be read is not known: whoever judges by it takes the worst.
    const missing = error instanceof Error && 'syscall' in error;
    if (missing || error instanceof LanceManifestError) return { id, change: null };
    throw error;
  }
}

async function messageOf(
  path: string,
  { transaction, transactionFile }: Pick<LanceManifest, 'transaction' | 'transactionFile'>,
): Promise<Uint8Array | null> {
  if (transaction !== null) return readManifestPart(path, transaction);
  if (transactionFile === null || basename(transactionFile) !== transactionFile) return null;
  return readPlain(join(dirname(dirname(path)), '_transactions', transactionFile), MOST_BYTES);
}

type Change = Draft<Omit<LanceTransaction, 'id'>>;

const changeReaders: FieldReaders<Change> = {
  ...Object.fromEntries(
    Object.entries(kinds).map(([field, change]) => [field, (one: Change) => (one.change = change)]),
  ),
  101: (one, pbf) => {
    one.change = 'delete';
    const { predicate } = innerMessage(pbf, deleteFields, { predicate: '' });
    if (predicate !== '') one.predicate = predicate;
  },
  108: (one, pbf) => {
    one.change = 'update';
    one.modified = innerMessage<number[]>(pbf, updateFields, []);
  },
  113: (one, pbf) => {
    one.change = 'clone';
    one.origin = innerMessage(pbf, originFields, { branch: null, version: 0n });
  },
};

const deleteFields: FieldReaders<{ predicate: string }> = {
  3: (one, pbf) => (one.predicate = textField(pbf)),
};

const updateFields: FieldReaders<number[]> = {
  4: (modified, pbf) => modified.push(...smallFields(pbf)),
};

const originFields: FieldReaders<Draft<LanceOrigin>> = {
  2: (origin, pbf) => (origin.branch = textField(pbf)),
  3: (origin, pbf) => (origin.version = numberField(pbf)),
};

function changeOf(message: Uint8Array): Change {
  return readMessage<Change>(message, changeReaders, { change: null });
}
