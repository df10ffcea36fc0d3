import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { systemErrorCode, fileMark } from './file-mark.ts';

/** Files of the gateway's certificate. */
interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; null to request none. */
  readonly clientCa: string | null;
}

/** The texts of a certificate, its key, and the authorities of clients, all PEM. */
interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

/** Why the files of a certificate cannot be used, as one sentence. */
export class CertificateError extends Error {}

/** One of the files cannot be read now; it may be as it was when it can be again. */
class UnreadableFile extends CertificateError {}

const LOOK_MILLIS = 1000;

/**
 * The certificate in force. Its files are looked at each second; a new state of
 * them that cannot be used, or has run out, changes nothing but `fault`.
 */
export class Certificate {
  readonly #files: CertificateFiles;
  readonly #timer: NodeJS.Timeout;
  #texts: CertificateTexts;
  #expires: Date;
  /** State of the files when they were read; undefined for a file that could not be read. */
  #mark: string | undefined;
  #refused: string | undefined;
  #onChange: (texts: CertificateTexts) => void = () => undefined;
  #onRefused: (why: string) => void = () => undefined;

  /** @throws CertificateError when the files cannot be used now. */
  constructor(files: CertificateFiles, lookMillis = LOOK_MILLIS) {
    this.#files = files;
    this.#mark = markOf(files);
    this.#texts = read(files);
    this.#expires = checked(files, this.#texts);
    this.#timer = setInterval(() => this.#look(), lookMillis).unref();
  }

  get texts(): CertificateTexts {
    return this.#texts;
  }

  /** When the certificate in force ends. */
  get expires(): Date {
    return this.#expires;
  }

  /** The fault of the files, or of the certificate in force. */
  get fault(): string | undefined {
    return this.#refused ?? ended(this.#files, this.#expires);
  }

  /** Tells of each new certificate in force, and of each state of the files that is refused. */
  follow(onChange: (texts: CertificateTexts) => void, onRefused: (why: string) => void): void {
    this.#onChange = onChange;
    this.#onRefused = onRefused;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const mark = markOf(this.#files);
    if (mark === this.#mark) return;
    this.#mark = mark;
    try {
      this.#take(read(this.#files));
      this.#refused = undefined;
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      this.#refuse(error);
    }
  }

  /** An unreadable file is tried at each check, and reported once. */
  #refuse(error: CertificateError): void {
    const isUnread = error instanceof UnreadableFile;
    if (isUnread) this.#mark = undefined;
    if (isUnread && error.message === this.#refused) return;
    this.#refused = error.message;
    this.#onRefused(error.message);
  }

  #take(texts: CertificateTexts): void {
    const expires = checked(this.#files, texts);
    const late = ended(this.#files, expires);
    if (late !== undefined) throw new CertificateError(late);
    this.#expires = expires;
    this.#texts = texts;
    this.#onChange(texts);
  }
}

function read({ cert, key, clientCa }: CertificateFiles): CertificateTexts {
  return {
    cert: textOf(cert),
    key: textOf(key),
    ...(clientCa === null ? {} : { ca: textOf(clientCa) }),
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UnreadableFile(`${path} cannot be read (${systemErrorCode(error)})`);
  }
}

/** Its expiry. @throws CertificateError for an invalid certificate, or one that does not match the key. */
function checked(files: CertificateFiles, texts: CertificateTexts): Date {
  const otherwise = `${files.cert} and ${files.key} are no certificate with its key`;
  // Node takes an empty text for an absent one. A file is empty for a moment while it is written.
  attempt(otherwise, () => createPrivateKey(texts.key));
  attempt(otherwise, () => createSecureContext({ cert: texts.cert, key: texts.key }));
  const { ca } = texts;
  if (ca !== undefined) {
    attempt(`${files.clientCa} holds no certificate`, () => new X509Certificate(ca));
  }
  return new Date(attempt(otherwise, () => new X509Certificate(texts.cert)).validTo);
}

function attempt<Result>(otherwise: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new CertificateError(`${otherwise} (${systemErrorCode(error)})`);
  }
}

function ended({ cert }: CertificateFiles, expires: Date): string | undefined {
  if (expires.getTime() > Date.now()) return undefined;
  return `the certificate of ${cert} ended at ${expires.toISOString()}`;
}

/** Changes whenever one of the files is replaced or written. */
function markOf({ cert, key, clientCa }: CertificateFiles): string {
  return [cert, key, clientCa].map((path) => (path === null ? '' : fileMark(path))).join(' ');
}
