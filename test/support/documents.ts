import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of a document. */
export interface Snippet {
  /** File and line of the fence. */
  readonly place: string;
  /** The word after the fence; empty without. */
  readonly language: string;
  readonly text: string;
  /** Why it is not run, from a comment right before the fence; undefined without one. */
  readonly notRun: string | undefined;
}

const opened = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

/** The paths of all documents of the project. */
export function documents(): readonly string[] {
  return [...opened, ...markdownBelow('docs'), ...markdownBelow('bench/results')];
}

/** The documents whose snippets are run. */
export function guides(): readonly string[] {
  return ['README.md', ...markdownBelow('docs/guide')];
}

function markdownBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))
    .sort();
}

/** The text of a file of the repository. */
export function readDocument(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

const FENCE = /^( *)```(\w*)$/;
const NOT_RUN = /^ *<!-- not run: (.+) -->$/;

/** The fenced blocks of a document, without the indentation of their fences. */
export function snippetsOf(path: string): readonly Snippet[] {
  const lines = readDocument(path).split('\n');
  const snippets: Snippet[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, indent = '', language = ''] = FENCE.exec(lines[at] ?? '') ?? [];
    if (!FENCE.test(lines[at] ?? '')) continue;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end < 0) throw new Error(`${path}:${at + 1}: the fence is not closed`);
    const before = lines.slice(0, at).findLast((line) => line.trim() !== '') ?? '';
    snippets.push({
      place: `${path}:${at + 1}`,
      language,
      text: lines
        .slice(at + 1, end)
        .map((line) => line.slice(indent.length))
        .join('\n'),
      notRun: NOT_RUN.exec(before)?.[1],
    });
    at = end;
  }
  return snippets;
}

/** The text of a document without its fenced blocks. */
export function proseOf(path: string): string {
  return readDocument(path).replace(/^ *```[\s\S]*?^ *```$/gm, '');
}
