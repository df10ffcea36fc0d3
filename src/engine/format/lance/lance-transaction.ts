import type { Storage } from '../../../storage/storage.ts';
import { basename, dirname, join } from 'node:path';
import type { LanceManifest } from './lance-manifest.ts';
import {
  innerMessage,
  LanceManifestError,
  uint64Field,
  decodeProtobuf,
  smallFields,
  utf8Field,
  type Draft,
  type FieldReaders,
} from './lance-message.ts';
import { readManifestPart } from './manifest-file.ts';
import { readPlain } from './plain-file.ts';
import { LANCE_TRANSACTIONS } from './versions.ts';

/**
 * Kind of change that a Lance client recorded (the field of `Transaction` in the format's
 * `transaction.proto`).
 */
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
  /** Id of the transaction across retries; null if the client recorded none. */
  readonly id: string | null;
  /** Null if the client recorded none or an unknown one. */
  readonly change: LanceChange | null;
  /** Predicate of a delete, as its client wrote it. */
  readonly predicate?: string;
  /** Ids of the fields whose values an update changed, as far as its client recorded them. */
  readonly modified?: readonly number[];
  /** Version that a new branch copies; absent for other changes. */
  readonly origin?: LanceOrigin;
}

/** Branch of the version; null for main. */
interface LanceOrigin {
  readonly branch: string | null;
  readonly version: bigint;
}

/** Limit of a transaction's size in bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Reads the transaction that made a manifest.
 * @param path The manifest's file; a branch stores its transactions beside its versions.
 */
export async function lanceTransaction(
  storage: Storage,
  path: string,
  manifest: Pick<LanceManifest, 'transaction' | 'transactionFile'>,
): Promise<LanceTransaction> {
  const id = manifest.transactionFile;
  try {
    const message = await transactionMessage(storage, path, manifest);
    return { id, ...(message === null ? { change: null } : changeOf(message)) };
  } catch (error) {
    // An unreadable transaction is unknown, and judges assume the worst.
    const missing = error instanceof Error && 'syscall' in error;
    if (missing || error instanceof LanceManifestError) return { id, change: null };
    throw error;
  }
}

/**
 * The message of the transaction that made a manifest; null if its writer recorded none.
 * @throws LanceManifestError, and the error of the operating system for a file that is not there.
 */
export async function transactionMessage(
  storage: Storage,
  path: string,
  { transaction, transactionFile }: Pick<LanceManifest, 'transaction' | 'transactionFile'>,
): Promise<Uint8Array | null> {
  if (transaction !== null) return readManifestPart(storage, path, transaction);
  if (transactionFile === null || basename(transactionFile) !== transactionFile) return null;
  return readPlain(
    storage,
    join(dirname(dirname(path)), LANCE_TRANSACTIONS, transactionFile),
    MOST_BYTES,
  );
}

type ChangeDraft = Draft<Omit<LanceTransaction, 'id'>>;

const changeReaders: FieldReaders<ChangeDraft> = {
  ...Object.fromEntries(
    Object.entries(kinds).map(([field, change]) => [
      field,
      (one: ChangeDraft) => (one.change = change),
    ]),
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
  3: (one, pbf) => (one.predicate = utf8Field(pbf)),
};

const updateFields: FieldReaders<number[]> = {
  4: (modified, pbf) => modified.push(...smallFields(pbf)),
};

const originFields: FieldReaders<Draft<LanceOrigin>> = {
  2: (origin, pbf) => (origin.branch = utf8Field(pbf)),
  3: (origin, pbf) => (origin.version = uint64Field(pbf)),
};

function changeOf(message: Uint8Array): ChangeDraft {
  return decodeProtobuf<ChangeDraft>(message, changeReaders, { change: null });
}
