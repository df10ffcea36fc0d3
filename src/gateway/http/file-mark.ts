import { statSync } from 'node:fs';

/** The mark of a missing file. */
export const NO_FILE = 'ENOENT';

/**
 * A text that is another one once a file was replaced, written or taken away;
 * the code of the system's error where it cannot be looked at. Throws nothing.
 */
export function fileMark(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    return systemErrorCode(error);
  }
}

export function systemErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
