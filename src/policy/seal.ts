import { createHash } from 'node:crypto';
import type { PolicyFinding } from './lines/policy-error.ts';

/** The digest file of a policy folder: `sha256sum` writes and checks the same lines. */
export const SEAL_FILE = 'policy.sha256';

interface SealedFile {
  readonly name: string;
  readonly text: string;
}

const LINE = /^([0-9a-f]{64}) [ *](.+)$/;

/** The text of the digest file for some files: a line for each, its SHA-256 and its name. */
export function policySeal(files: readonly SealedFile[]): string {
  return files.map(({ name, text }) => `${sha256(text)}  ${name}\n`).join('');
}

/** Why a folder of these files does not match its digest file; nothing if it does. */
export function sealFindings(seal: string, files: readonly SealedFile[]): readonly PolicyFinding[] {
  const lines = seal.split('\n').filter((line) => line.trim() !== '');
  const odd = lines.findIndex((line) => !LINE.test(line));
  if (odd !== -1) {
    const text = `this is not a line of sha256sum: ${ADVICE}`;
    return [{ file: SEAL_FILE, line: odd + 1, text }];
  }
  const sealed = new Map(lines.map((line) => LINE.exec(line)!).map(([, sum, name]) => [name, sum]));
  const differences = [
    ...files.flatMap(({ name, text }) => {
      if (!sealed.has(name)) return [`${name} is not in it`];
      return sealed.get(name) === sha256(text) ? [] : [`${name} has another digest`];
    }),
    ...[...sealed.keys()]
      .filter((name) => !files.some((file) => file.name === name))
      .map((name) => `${name} is in it, but is no policy file of the folder`),
  ];
  if (differences.length === 0) return [];
  const text = `the folder does not match its digest file: ${differences.join(', ')}; ${ADVICE}`;
  return [{ file: SEAL_FILE, text }];
}

const ADVICE =
  'when every file is written, run "arrowgate policy seal" on the folder, or remove the digest file';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
