import { createHash } from 'node:crypto';
import { readdirSync, statSync, type BigIntStats } from 'node:fs';
import { readFile, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { COMMITS_FILE } from '../rules/commit-rule.ts';
import { ISSUERS_FILE } from './settings/issuers.ts';
import { LIMITS_FILE } from './settings/limit.ts';
import { RESTRICTIONS_FILE } from './settings/restrictions.ts';
import { CASES_FILE } from './settings/case-reader.ts';
import { PolicyError } from './lines/policy-error.ts';
import { MODEL_FILE, POLICY_FILE } from './lines/policy-line.ts';
import { SEAL_FILE } from './seal.ts';

/** The texts of a policy, all as they stood at one moment. */
export interface PolicyTexts {
  readonly model: string;
  readonly policy: string;
  /** Absent when there is no such file. */
  readonly issuers?: string | undefined;
  readonly limits?: string | undefined;
  readonly commits?: string | undefined;
  readonly restrictions?: string | undefined;
}

const decidingFiles: Readonly<Record<keyof PolicyTexts, string>> = {
  model: MODEL_FILE,
  policy: POLICY_FILE,
  issuers: ISSUERS_FILE,
  limits: LIMITS_FILE,
  commits: COMMITS_FILE,
  restrictions: RESTRICTIONS_FILE,
};

/** Every file of a policy folder that is read, save the key sets that `issuers.yaml` names. */
export const readFileNames: readonly string[] = [
  ...Object.values(decidingFiles),
  CASES_FILE,
  SEAL_FILE,
];

/** Everything that is read of a policy folder, all as it stood at one moment. */
export interface PolicyFolder {
  /** The policy in force. */
  readonly texts: PolicyTexts;
  /** `cases.yaml`; undefined when there is no such file. */
  readonly cases: string | undefined;
  /** The digest file; undefined when there is none. */
  readonly seal: string | undefined;
}

interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/** The files that the texts of a policy came from. */
export function filesOfPolicy(texts: PolicyTexts): readonly PolicyFile[] {
  const parts = Object.keys(decidingFiles) as readonly (keyof PolicyTexts)[];
  return parts.flatMap((part) => fileOf(decidingFiles[part], texts[part]));
}

/** The files that a digest file has to name: those that decide, and the cases. */
export function sealedFiles({
  texts,
  cases,
}: Pick<PolicyFolder, 'texts' | 'cases'>): readonly PolicyFile[] {
  return [...filesOfPolicy(texts), ...fileOf(CASES_FILE, cases)];
}

/** The folder that files by their names make. @throws PolicyError if a file that must exist is missing */
export function folderOfFiles(files: ReadonlyMap<string, string>): PolicyFolder {
  const missing = [MODEL_FILE, POLICY_FILE].filter((name) => !files.has(name));
  if (missing.length > 0) {
    throw new PolicyError(missing.map((file) => ({ file, text: 'the file is missing' })));
  }
  const parts = Object.entries(decidingFiles).map(([part, name]) => [part, files.get(name)]);
  const texts = Object.fromEntries(parts) as unknown as PolicyTexts;
  return { texts, cases: files.get(CASES_FILE), seal: files.get(SEAL_FILE) };
}

function fileOf(name: string, text: string | undefined): readonly PolicyFile[] {
  return text === undefined ? [] : [{ name, text }];
}

/** How often a folder that changes while it is read is read again. */
const ATTEMPTS = 10;

/** Reads the texts that decide. @throws PolicyError as `readPolicyFolder` does */
export async function readPolicyTexts(folder: string): Promise<PolicyTexts> {
  return (await readPolicyFolder(folder)).texts;
}

/**
 * Reads `model.conf`, `policy.csv` and the other files of a policy that exist in a
 * folder, or in what it links to.
 * @throws PolicyError when one is missing or is no UTF-8, or the folder cannot be listed or does
 *   not come to rest.
 */
export async function readPolicyFolder(folder: string): Promise<PolicyFolder> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await fingerprint(folder);
    const read = await readAll(folder);
    if ((await fingerprint(folder)) === before) {
      if (read instanceof PolicyError) throw read;
      return read;
    }
    await wait(50);
  }
  const text = 'the folder keeps changing while it is read';
  throw new PolicyError([{ file: POLICY_FILE, text }], true);
}

async function readAll(folder: string): Promise<PolicyFolder | PolicyError> {
  try {
    const model = await readText(folder, MODEL_FILE);
    const policy = await readText(folder, POLICY_FILE);
    const names = await namesIn(folder);
    const optional = async (file: string) => (names.has(file) ? readText(folder, file) : undefined);
    const limits = await optional(LIMITS_FILE);
    const issuers = await optional(ISSUERS_FILE);
    const commits = await optional(COMMITS_FILE);
    const restrictions = await optional(RESTRICTIONS_FILE);
    const cases = await optional(CASES_FILE);
    const seal = await optional(SEAL_FILE);
    return { texts: { model, policy, issuers, limits, commits, restrictions }, cases, seal };
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}

/** A folder that cannot be listed may hold limits and rules: without them too much would be let through. */
async function namesIn(folder: string): Promise<ReadonlySet<string>> {
  try {
    return new Set(await readdir(folder));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `whether there is such a file cannot be seen in the folder ${folder} (${code})`;
    const files = [LIMITS_FILE, ISSUERS_FILE, COMMITS_FILE, RESTRICTIONS_FILE];
    throw new PolicyError(
      files.map((file) => ({ file, text })),
      true,
    );
  }
}

async function readText(folder: string, file: string): Promise<string> {
  const bytes = await readFile(join(folder, file)).catch((error: NodeJS.ErrnoException) => {
    const hint =
      error.code === 'ENOENT'
        ? ': start in the folder that `arrowgate init DIR` made, or name the policies with --policies'
        : '';
    const text = `the file cannot be read in the folder ${folder} (${error.code})${hint}`;
    throw new PolicyError([{ file, text }], true);
  });
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new PolicyError([{ file, text: 'the file is not valid UTF-8' }]);
  }
}

/**
 * SHA-256 over the texts of a policy, in hexadecimal: the length of each and the text; last, and only
 * where they exist, `issuers.yaml`, `limits.yaml`, `commits.yaml` and `restrictions.yaml`, each with its name.
 */
export function policyDigest(texts: PolicyTexts): string {
  const { model, policy, issuers, limits, commits, restrictions } = texts;
  const hash = createHash('sha256');
  const optional = [
    ...(issuers === undefined ? [] : [`${ISSUERS_FILE}\n${issuers}`]),
    ...(limits === undefined ? [] : [`${LIMITS_FILE}\n${limits}`]),
    ...(commits === undefined ? [] : [`${COMMITS_FILE}\n${commits}`]),
    ...(restrictions === undefined ? [] : [`${RESTRICTIONS_FILE}\n${restrictions}`]),
  ];
  for (const text of [model, policy, ...optional])
    hash.update(`${Buffer.byteLength(text)}\n`).update(text);
  return hash.digest('hex');
}

/**
 * A file system that answers within this time, in ms, is asked on this thread for at most this number of files: a call
 * on another thread costs ten times the work.
 */
const QUICK_MILLIS = 2;
const QUICK_FILES = 64;

/**
 * A text that is another one once anything in the folder, or the folder
 * behind its name, was changed, replaced, added or removed.
 */
export async function fingerprint(folder: string): Promise<string> {
  try {
    const began = performance.now();
    // A file system that does not answer must not hold up everything else.
    const target = await realpath(folder);
    const isQuick = performance.now() - began < QUICK_MILLIS;
    const names = (isQuick ? readdirSync(target) : await readdir(target)).sort();
    const paths = [target, ...names.map((name) => join(target, name))];
    const isAtOnce = isQuick && paths.length <= QUICK_FILES;
    const marks = isAtOnce ? paths.map(markNow) : await Promise.all(paths.map(mark));
    return paths.map((path, index) => path + marks[index]!).join('\n');
  } catch (error) {
    return unreadable(error);
  }
}

async function mark(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(markOf, unreadable);
}

function markNow(path: string): string {
  try {
    return markOf(statSync(path, { bigint: true }));
  } catch (error) {
    return unreadable(error);
  }
}

function markOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `:${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function unreadable(error: unknown): string {
  return `unreadable ${(error as NodeJS.ErrnoException).code}`;
}
