import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { resolve } from 'node:path';
import { errorCode, isMissing } from '../../storage/storage-error.ts';
import { logStorage } from '../chain/log-files.ts';

const ID_LENGTH = 16;

/** A file without an Ed25519 key in PEM. */
export class SigningKeyError extends Error {
  constructor(path: string, why: string) {
    super(`${path} ${why}`);
    this.name = 'SigningKeyError';
  }
}

/** Verifies a signature (Ed25519, RFC 8032). */
export class PublicKey {
  /** Id by which signatures name the key: the beginning of the SHA-256 of its DER. */
  readonly id: string;
  readonly #key: KeyObject;

  constructor(key: KeyObject) {
    this.#key = key;
    const der = key.export({ type: 'spki', format: 'der' });
    this.id = createHash('sha256').update(der).digest('base64url').slice(0, ID_LENGTH);
  }

  verifies(text: string, signature: string): boolean {
    return verify(null, Buffer.from(text), this.#key, Buffer.from(signature, 'base64url'));
  }

  /** The key in PEM, as `audit verify --public-key` takes it. */
  get pem(): string {
    return this.#key.export({ type: 'spki', format: 'pem' }).toString();
  }
}

/** Signs (Ed25519, RFC 8032). Does not reveal the private key. */
export class SigningKey {
  readonly #key: KeyObject;
  readonly public: PublicKey;

  constructor(key: KeyObject) {
    this.#key = key;
    this.public = new PublicKey(createPublicKey(key));
  }

  /** The signature over a text, in base64url. */
  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#key).toString('base64url');
  }
}

/** Reads the private key of a PEM file (PKCS 8). @throws SigningKeyError */
export async function readSigningKey(path: string): Promise<SigningKey> {
  return new SigningKey(ed25519(path, createPrivateKey, await textOf(path)));
}

/** Reads the public key of a PEM file, which may hold a private key. @throws SigningKeyError */
export async function readPublicKey(path: string): Promise<PublicKey> {
  return new PublicKey(ed25519(path, createPublicKey, await textOf(path)));
}

/** Public key of a PEM text; undefined for any other text. */
export function publicKeyOf(pem: string): PublicKey | undefined {
  try {
    return new PublicKey(ed25519('', createPublicKey, pem));
  } catch {
    return undefined;
  }
}

/**
 * Replaces the private key of a file by a new one.
 * @param before Called with the new key before the file is replaced.
 */
export async function replaceSigningKey(
  path: string,
  before: (next: SigningKey) => Promise<void>,
): Promise<SigningKey> {
  const pem = newKey();
  const key = new SigningKey(ed25519(path, createPrivateKey, pem));
  await before(key);
  await logStorage.replace(resolve(path), Buffer.from(pem));
  return key;
}

/**
 * Reads the private key of a file. Creates the file if it is missing: mode 0600,
 * complete and durable. Concurrent callers get the same key.
 * @throws SigningKeyError
 */
export async function readOrMakeSigningKey(path: string): Promise<SigningKey> {
  const pem = await textIfPresent(path);
  if (pem !== undefined) return new SigningKey(ed25519(path, createPrivateKey, pem));
  await logStorage.putIfAbsent(resolve(path), Buffer.from(newKey()), 0o600);
  return readSigningKey(path);
}

/** A new private key in PEM. */
function newKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Key files belong to the configuration, which may name links. */
async function textOf(path: string): Promise<string> {
  const text = await textIfPresent(path);
  if (text === undefined) throw new SigningKeyError(path, 'cannot be read (ENOENT)');
  return text;
}

async function textIfPresent(path: string): Promise<string | undefined> {
  try {
    return (await logStorage.read(resolve(path), 'all')).toString();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new SigningKeyError(path, `cannot be read (${errorCode(error) ?? 'unknown'})`);
  }
}

function ed25519(path: string, parse: (pem: string) => KeyObject, pem: string): KeyObject {
  const key = parsed(path, parse, pem);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new SigningKeyError(path, `holds a key of type ${key.asymmetricKeyType}, not Ed25519`);
}

function parsed(path: string, parse: (pem: string) => KeyObject, pem: string): KeyObject {
  try {
    return parse(pem);
  } catch {
    throw new SigningKeyError(path, 'holds no key in PEM');
  }
}
