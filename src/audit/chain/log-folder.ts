import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const LINES = /^(\d{8})\.jsonl$/;
const SEAL = /^(\d{8})\.seal$/;

/** A part of an instance's log: a file of lines, or a sealed segment. */
export interface LogFile {
  readonly kind: 'lines' | 'segment';
  /** The file of lines, or the Arrow file, which is missing after its retention. */
  readonly path: string;
  /** Path of the segment's seal, which a file of lines does not have. */
  readonly seal: string;
}

/** Folder of the archived policies, beside the folders of instances. */
export const POLICIES_FOLDER = 'policies';

/** Instances of an audit folder, in order of their starts; none if the folder is missing. */
export async function instancesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(absent);
  return entries
    .filter((entry) => entry.isDirectory() && entry.name !== POLICIES_FOLDER)
    .map((entry) => entry.name)
    .sort();
}

/**
 * Parts of an instance's log, in the order in which they were written. Where both exist,
 * the file of lines is used: the segment may be incomplete.
 */
export async function logFilesOf(folder: string, instance: string): Promise<readonly LogFile[]> {
  const inner = join(folder, instance);
  const names = await readdir(inner).catch(absent);
  const lines = new Set(numbersIn(names, LINES));
  const numbers = new Set([...lines, ...numbersIn(names, SEAL)]);
  return [...numbers].sort().map((number) => ({
    kind: lines.has(number) ? 'lines' : 'segment',
    path: join(inner, `${number}.${lines.has(number) ? 'jsonl' : 'arrow'}`),
    seal: join(inner, `${number}.seal`),
  }));
}

/** Path of the segment that a file of lines becomes. */
export function segmentOf(lines: string): string {
  return lines.replace(/jsonl$/, 'arrow');
}

function numbersIn(names: readonly string[], pattern: RegExp): readonly string[] {
  return names.flatMap((name) => pattern.exec(name)?.[1] ?? []);
}

function absent(error: unknown): never[] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
  throw error;
}
