import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { publicKeyOf, type PublicKey } from '../../audit/signing/keys.ts';
import { StatementFault } from '../../audit/signing/statement.ts';
import { errorCode } from '../../storage/storage-error.ts';
import { UsageError } from '../output/service-error.ts';
import {
  DIGESTS_FILE,
  KEY_FILE,
  parseDigests,
  parseSignature,
  SIGNATURE_FILE,
  type ListSignature,
} from './digest-list.ts';

/** A manipulation of an evidence folder. */
type EvidenceFault =
  | 'changed'
  | 'missing'
  | 'additional'
  | 'unsigned'
  | 'wrong signature'
  | 'unknown key';

interface EvidenceFinding {
  readonly kind: EvidenceFault;
  /** Path in the folder. */
  readonly file: string;
  /** One sentence. */
  readonly text: string;
}

/** Result of the check of an evidence folder. */
export interface CheckedEvidence {
  readonly folder: string;
  /** Number of listed files. */
  readonly files: number;
  readonly findings: readonly EvidenceFinding[];
  /** Id of the key, and time of the signature; null for an unsigned folder. */
  readonly signature: { readonly key: string; readonly time: string } | null;
  /** Limits of this check. */
  readonly unknown: readonly string[];
}

/**
 * Compares an evidence folder with its list of digests, and verifies the signature of the list.
 * @param keys Trusted keys; without any, the key in the folder is used, which is said.
 * @throws UsageError when there is no such folder
 */
export async function checkEvidence(
  folder: string,
  keys: readonly PublicKey[],
): Promise<CheckedEvidence> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new UsageError(`${folder} is not a folder that \`arrowgate audit evidence\` wrote`);
  }
  const list = await textIn(folder, DIGESTS_FILE);
  if (list === undefined) {
    throw new UsageError(
      `${folder} has no file ${DIGESTS_FILE}: name a folder that \`arrowgate audit evidence\` wrote`,
    );
  }
  const { digests, broken } = parseDigests(list);
  const findings: EvidenceFinding[] = broken.map((line) => ({
    kind: 'changed',
    file: DIGESTS_FILE,
    text: `line ${line} is not a digest and a path, or repeats a path`,
  }));
  const present = await filesIn(folder);
  for (const [path, digest] of digests) {
    const fault = await faultOf(folder, path, digest, present);
    if (fault !== undefined) findings.push(fault);
  }
  for (const path of present.keys()) {
    if (digests.has(path) || path === DIGESTS_FILE || path === SIGNATURE_FILE) continue;
    findings.push({ kind: 'additional', file: path, text: 'it is not in the list of digests' });
  }
  const signed = await signatureFindings(folder, list, keys);
  return {
    folder,
    files: digests.size,
    findings: [...findings, ...signed.findings],
    signature: signed.signature ?? null,
    unknown: signed.unknown,
  };
}

async function textIn(folder: string, name: string): Promise<string | undefined> {
  return readFile(join(folder, name), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/** Every entry below a folder but the folders; whether it is a plain file. */
async function filesIn(folder: string): Promise<ReadonlyMap<string, boolean>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries.flatMap((entry): [string, boolean][] =>
      entry.isDirectory()
        ? []
        : [[relative(folder, join(entry.parentPath, entry.name)), entry.isFile()]],
    ),
  );
}

async function faultOf(
  folder: string,
  file: string,
  digest: string,
  present: ReadonlyMap<string, boolean>,
): Promise<EvidenceFinding | undefined> {
  const isPlain = present.get(file);
  if (isPlain === undefined) {
    return { kind: 'missing', file, text: 'the list of digests names it' };
  }
  if (!isPlain) return { kind: 'changed', file, text: 'it is no plain file any more' };
  const own = await digestOfFile(join(folder, file));
  if (own === digest) return undefined;
  return { kind: 'changed', file, text: `its SHA-256 is ${own}, and not ${digest} as listed` };
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}

interface CheckedSignature {
  readonly findings: readonly EvidenceFinding[];
  readonly signature?: { readonly key: string; readonly time: string };
  readonly unknown: readonly string[];
}

async function signatureFindings(
  folder: string,
  list: string,
  keys: readonly PublicKey[],
): Promise<CheckedSignature> {
  const text = await textIn(folder, SIGNATURE_FILE);
  const enclosed = publicKeyOf((await textIn(folder, KEY_FILE)) ?? '');
  if (text === undefined) return unsigned(keys, enclosed);
  const signature = signatureIn(text);
  if (signature === undefined) {
    return { findings: [wrong('wrong signature', 'it is no signature')], unknown: [] };
  }
  const { key, time } = signature;
  const findings = [
    ...enclosedFindings(signature, enclosed),
    ...trustFindings(
      signature,
      keys.length > 0 ? keys : [enclosed].flatMap((one) => one ?? []),
      list,
    ),
  ];
  return { findings, signature: { key, time }, unknown: keys.length > 0 ? [] : [OWN_KEY] };
}

const OWN_KEY = `the key was taken from the folder itself, so anyone could have made and signed it: --public-key with a key that is kept elsewhere rules that out`;

/** A folder that has a key was signed. */
function unsigned(keys: readonly PublicKey[], enclosed: PublicKey | undefined): CheckedSignature {
  const unknown = [
    'the list of digests is not signed: whoever changes a file can change the list as well',
  ];
  if (keys.length === 0 && enclosed === undefined) return { findings: [], unknown };
  const text = 'the list of digests has no signature, although a key is given or enclosed';
  return { findings: [{ kind: 'unsigned', file: DIGESTS_FILE, text }], unknown };
}

function signatureIn(text: string): ListSignature | undefined {
  try {
    return parseSignature(text);
  } catch (error) {
    if (error instanceof StatementFault) return undefined;
    throw error;
  }
}

function wrong(kind: EvidenceFault, text: string): EvidenceFinding {
  return { kind, file: SIGNATURE_FILE, text };
}

function enclosedFindings(
  { key }: ListSignature,
  enclosed: PublicKey | undefined,
): readonly EvidenceFinding[] {
  if (enclosed?.id === key) return [];
  const other = enclosed === undefined ? 'holds no key' : `holds the key ${enclosed.id}`;
  const text = `it ${other}, but the list of digests was signed by ${key}`;
  return [{ kind: 'unknown key', file: KEY_FILE, text }];
}

function trustFindings(
  signature: ListSignature,
  trusted: readonly PublicKey[],
  list: string,
): readonly EvidenceFinding[] {
  const { key } = signature;
  if (trusted.length > 0 && !trusted.some(({ id }) => id === key)) {
    const names = trusted.map(({ id }) => id).join(', ');
    return [wrong('unknown key', `the key ${key} signed the list, which is none of ${names}`)];
  }
  if (trusted.length > 0 && !signature.isBy(trusted)) {
    return [wrong('wrong signature', `it was not made by the key ${key} that it names`)];
  }
  if (signature.isFor(list)) return [];
  return [wrong('wrong signature', `it is for another list than ${DIGESTS_FILE}`)];
}
