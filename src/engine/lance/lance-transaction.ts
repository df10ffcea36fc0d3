import { basename, join } from 'node:path';
import type { LanceManifest } from './lance-manifest.ts';
import { LanceManifestError, readMessage, type FieldReaders } from './lance-message.ts';
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
} as const;

export type LanceChange = (typeof kinds)[keyof typeof kinds];

/** The transaction of a Lance client. */
export interface LanceTransaction {
  /** What tells it from others, however often it is tried; null where the client did not say. */
  readonly id: string | null;
  /** Null where the client did not say, or did something that is not known. */
  readonly change: LanceChange | null;
}

/** Nobody's transaction is longer. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * The transaction that made a manifest, as its writer says.
 * @param location The folder of the table.
 * @param path The manifest's file.
 */
export async function lanceTransaction(
  location: string,
  path: string,
  manifest: Pick<LanceManifest, 'transaction' | 'transactionFile'>,
): Promise<LanceTransaction> {
  const id = manifest.transactionFile;
  try {
    const message = await messageOf(location, path, manifest);
    return { id, change: message === null ? null : changeOf(message) };
  } catch (error) {
    // What cannot be read is not known: whoever judges by it takes the worst.
    const missing = error instanceof Error && 'syscall' in error;
    if (missing || error instanceof LanceManifestError) return { id, change: null };
    throw error;
  }
}

async function messageOf(
  location: string,
  path: string,
  { transaction, transactionFile }: Pick<LanceManifest, 'transaction' | 'transactionFile'>,
): Promise<Uint8Array | null> {
  if (transaction !== null) return readManifestPart(path, transaction);
  if (transactionFile === null || basename(transactionFile) !== transactionFile) return null;
  return readPlain(join(location, '_transactions', transactionFile), MOST_BYTES);
}

function changeOf(message: Uint8Array): LanceChange | null {
  const found: { change: LanceChange | null } = { change: null };
  const readers: FieldReaders<typeof found> = Object.fromEntries(
    Object.entries(kinds).map(([field, change]) => [
      field,
      (one: typeof found) => (one.change = change),
    ]),
  );
  return readMessage(message, readers, found).change;
}
