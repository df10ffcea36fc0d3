import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** A commit of a Lance client. */
export interface LanceCommit {
  /** Id of the table. */
  readonly table: string;
  readonly branch: string;
  /** Absolute path of the file with its manifest. */
  readonly file: string;
  /** Name of its transaction; null where its client did not say. */
  readonly transaction: string | null;
}

/**
 * What tells a commit from others, however often its client tries it: its transaction,
 * or else the SHA-256 of its manifest, which names its version and files that nobody has written before.
 */
export async function commitId(commit: LanceCommit): Promise<string> {
  const { table, branch, file, transaction } = commit;
  return `${table} ${branch} ${transaction ?? (await digestOf(file))}`;
}

async function digestOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}
