import { randomBytes } from 'node:crypto';
import { KEY_SECRET_BYTES } from '../../gateway/identity/key-seal.ts';
import { errorCode, unlessMissing } from '../../storage/storage-error.ts';
import { replaceText } from '../../storage/replaced-file.ts';
import type { Config } from '../config/config-table.ts';
import { UsageError } from '../output/service-error.ts';
import { disk, type DataFolder, type ReadDataFolder } from './data-folder.ts';

/** Mode of the file with the secret. */
const MODE = 0o600;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

type Place = Pick<DataFolder | ReadDataFolder, 'keySecret'>;

/**
 * The secret that authenticates shared keys; undefined where none was made.
 * @throws UsageError for a file that is configured and missing, or that has no secret.
 */
export async function readKeySecret(
  config: Config,
  { keySecret }: Place,
): Promise<Buffer | undefined> {
  const text = await secretText(keySecret);
  if (text === undefined) {
    if (config['keys.secret_file'] === null) return undefined;
    throw new UsageError(
      `keys.secret_file names ${keySecret}, which is not there: ${secretAdvice}`,
    );
  }
  if (SECRET.test(text)) return Buffer.from(text, 'base64url');
  throw new UsageError(
    `${keySecret} has no key secret: it must be ${KEY_SECRET_BYTES} random bytes in base64url, 43 characters`,
  );
}

const secretAdvice =
  'copy private/key-secret of another gateway of the catalog there, or write 43 random characters of base64url for a new catalog';

async function secretText(path: string): Promise<string | undefined> {
  try {
    return (await unlessMissing(disk.read(path, 'all')))?.toString().trim();
  } catch (error) {
    throw new UsageError(`the key secret ${path} cannot be read (${errorCode(error)})`);
  }
}

/** Makes the secret of a catalog whose keys are not shared yet; one that is there stays. */
export async function makeKeySecret(config: Config, place: Place): Promise<Buffer> {
  const text = randomBytes(KEY_SECRET_BYTES).toString('base64url');
  await disk.putIfAbsent(place.keySecret, Buffer.from(`${text}\n`), MODE);
  const secret = await readKeySecret(config, place);
  if (secret === undefined) throw new UsageError(`${place.keySecret} cannot be made`);
  return secret;
}

/** Puts a new secret in place of the one that is there. */
export async function replaceKeySecret({ keySecret }: Place): Promise<Buffer> {
  const secret = randomBytes(KEY_SECRET_BYTES);
  await replaceText(keySecret, `${secret.toString('base64url')}\n`);
  return secret;
}

/** The refusal of a gateway that lacks the secret of its catalog. */
export function secretMissing({ keySecret }: Place): UsageError {
  return new UsageError(
    `the gateways of this catalog share their API keys, and this one lacks their secret: copy private/key-secret of another gateway to ${keySecret} (mode 0600), or name such a file with keys.secret_file`,
  );
}
