import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../../storage/folder.ts';

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
  const made = `${path}.${randomUUID()}.new`;
  try {
    await make(made);
    const key = await readSigningKey(made);
    await before(key);
    await rename(made, path);
    await syncFolder(dirname(path));
    return key;
  } finally {
    await rm(made, { force: true });
  }
}

/**
 * Reads the private key of a file. Creates the file if it is missing: mode 0600,
 * complete and durable. Concurrent callers get the same key.
 * @throws SigningKeyError
 */
export async function readOrMakeSigningKey(path: string): Promise<SigningKey> {
  if (!(await exists(path))) await make(path);
  return readSigningKey(path);
}

async function make(path: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await file.sync();
    await link(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path)).close();
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw unreadable(path, error);
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadable(path, error);
  });
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

function unreadable(path: string, error: unknown): SigningKeyError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new SigningKeyError(path, `cannot be read (${code})`);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
