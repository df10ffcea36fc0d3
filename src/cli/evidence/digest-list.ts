import { createHash } from 'node:crypto';
import type { PublicKey, SigningKey } from '../../audit/signing/keys.ts';
import {
  isSignedBy,
  signedText,
  signingInput,
  statementFields,
  textIn,
} from '../../audit/signing/statement.ts';

/** Digests of all other files, in the format of `sha256sum`. */
export const DIGESTS_FILE = 'SHA256SUMS';
/** Signature of the digests; absent in unsigned evidence. */
export const SIGNATURE_FILE = 'SHA256SUMS.sig.json';
/** Public key of the signature. */
export const KEY_FILE = 'signing-key.pub.pem';

const PURPOSE = 'arrowgate audit evidence 1';

/** SHA-256 of files in hexadecimal, by their paths in the folder. */
export type FileDigests = ReadonlyMap<string, string>;

const LINE = /^([0-9a-f]{64}) {2}(\S.*)$/;

/** The text of a list, sorted by path. */
export function digestsText(digests: FileDigests): string {
  const sorted = [...digests].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([path, digest]) => `${digest}  ${path}\n`).join('');
}

/** Parses a list. Lines that are none, and repeated paths, are returned by their numbers, from 1. */
export function parseDigests(text: string): {
  readonly digests: FileDigests;
  readonly broken: readonly number[];
} {
  const digests = new Map<string, string>();
  const broken: number[] = [];
  for (const [at, line] of text.replace(/\n$/, '').split('\n').entries()) {
    const [, digest, path] = LINE.exec(line) ?? [];
    if (digest === undefined || path === undefined || !isInside(path) || digests.has(path)) {
      broken.push(at + 1);
    } else digests.set(path, digest);
  }
  return { digests, broken };
}

/** Whether a path stays within the folder. */
function isInside(path: string): boolean {
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Signs a list, as one line of JSON. @param time RFC 3339. */
export function signatureText(key: SigningKey, list: string, time: string): string {
  return `${signedText(key, PURPOSE, { sha256: digestOf(list), time })}\n`;
}

/** A signature of a list, which is not verified yet. */
export interface ListSignature {
  /** Id of the key. */
  readonly key: string;
  /** RFC 3339. */
  readonly time: string;
  /** Whether the signature is for a list with this text. */
  isFor(list: string): boolean;
  /** Whether one of the keys made it. */
  isBy(keys: readonly PublicKey[]): boolean;
}

/** @throws StatementFault */
export function parseSignature(text: string): ListSignature {
  const fields = statementFields(text);
  const [sha256, time] = [textIn(fields, 'sha256'), textIn(fields, 'time')];
  const signed = { key: textIn(fields, 'key'), signature: textIn(fields, 'signature') };
  return {
    key: signed.key,
    time,
    isFor: (list) => digestOf(list) === sha256,
    isBy: (keys) => isSignedBy(keys, signed, signingInput(PURPOSE, [sha256, time])),
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
