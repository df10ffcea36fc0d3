import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { wireLocation } from '../../../storage/object-key.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';

/** The key of the hashes of masks. */
export type MaskSecret = () => Promise<Uint8Array>;

/** The file of the key, which all processes of a catalog have in common. @param journal A key in an object store, if the journal is in one. */
export function maskKeyOf(data: string, journal: string | undefined): string {
  return journal === undefined ? join(data, 'private', 'mask-key') : join(journal, 'mask-key');
}

const BYTES = 32;
const MODE = 0o600;
const FOLDER_MODE = 0o700;

/**
 * The key of a catalog: 32 random bytes in a file, made when a hash first needs it. All processes of a
 * catalog have the same.
 * @param path Of the file, which may be an object.
 * @param readOnly Whether a missing key is an error instead.
 */
export function maskSecretIn(storage: Storage, path: string, readOnly: boolean): MaskSecret {
  let known: Uint8Array | undefined;
  return async () => (known ??= await readSecret(storage, path, readOnly));
}

/**
 * Copies the key of a catalog to a copy of it, where the hashes of masks are the same then. Does nothing while there
 * is no key.
 * @throws CatalogError Internal for a damaged key
 */
export async function copyMaskSecret(storage: Storage, from: string, to: string): Promise<void> {
  const found = await unlessMissing(storage.read(from));
  if (found !== undefined) await putSecret(storage, to, checked(found, from));
}

async function putSecret(storage: Storage, path: string, secret: Uint8Array): Promise<void> {
  await storage.folders?.make(dirname(path), FOLDER_MODE);
  await storage.putIfAbsent(path, secret, MODE);
}

async function readSecret(storage: Storage, path: string, readOnly: boolean): Promise<Uint8Array> {
  const found = await unlessMissing(storage.read(path));
  if (found === undefined && !readOnly) {
    await putSecret(storage, path, randomBytes(BYTES));
    return checked(await storage.read(path), path);
  }
  if (found === undefined) {
    throw new CatalogError('ServiceUnavailable', 'the catalog has no key for masks yet');
  }
  return checked(found, path);
}

function checked(bytes: Uint8Array, path: string): Uint8Array {
  if (bytes.byteLength === BYTES) return bytes;
  throw new CatalogError('Internal', `${wireLocation(path)} is damaged: restore it from a backup`);
}
