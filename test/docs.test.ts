import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { referenceDocs } from '../scripts/reference-docs.ts';
import { conditionKinds } from '../src/policy/conditions/kinds.ts';
import { limitKeys } from '../src/policy/settings/limits.ts';
import { documents, proseOf, readDocument, root } from './support/documents.ts';

const folders = [
  'src',
  'test',
  'docs',
  'examples',
  'policies',
  'scripts',
  'bench',
  'deploy',
  'kernels',
];
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
    join(folder, name),
  ),
);

describe('the documents', () => {
  it.each(Object.entries(referenceDocs()))('%s agrees with the table in the code', (path, text) => {
    expect(readDocument(path)).toBe(text);
  });

  it.each(documents())('%s links only to files and headings that exist', (path) => {
    expect(linksOf(path).filter((link) => !leadsSomewhere(path, link))).toEqual([]);
  });

  it.each(living())('%s names only files that exist', (path) => {
    const named = [...proseOf(path).matchAll(/`([\w.*/-]+)`/g)].map(([, name = '']) => name);
    expect(named.filter(looksLikeFile).filter((name) => !isThere(name))).toEqual([]);
  });

  it.each([
    ['docs/guide/limits.md', limitKeys],
    ['docs/guide/policies.md', conditionKinds.map(({ variable }) => variable.replace('.KEY', '.'))],
  ])('%s names every key of its table', (path, keys) => {
    const text = readDocument(path);
    expect(keys.filter((key) => !text.includes(key))).toEqual([]);
  });

  it('has a README of at most 150 lines and a map of at most 250', () => {
    expect(linesOf('README.md')).toBeLessThanOrEqual(150);
    expect(linesOf('ARCHITECTURE.md')).toBeLessThanOrEqual(250);
  });

  it('names every folder of the code in ARCHITECTURE.md', () => {
    const text = readDocument('ARCHITECTURE.md');
    const missing = files
      .filter((name) => name.startsWith('src/') && statSync(join(root, name)).isDirectory())
      .filter((name) => !text.includes(nameInMap(name)));
    expect(missing).toEqual([]);
  });

  it('links every page of docs/ from another document', () => {
    const linked = new Set(
      documents().flatMap((path) => linksOf(path).map((link) => targetOf(path, link).file)),
    );
    expect(documents().filter((path) => path.startsWith('docs/') && !linked.has(path))).toEqual([]);
  });

  it.each(documents().filter((path) => path.startsWith('docs/design/')))(
    '%s names only identifiers of the code',
    (path) => {
      const code = codeText();
      const named = [...proseOf(path).matchAll(/`([A-Za-z]+[A-Z][A-Za-z]*)`/g)];
      const missing = named.map(([, name = '']) => name).filter((name) => !code.includes(name));
      expect(missing).toEqual([]);
    },
  );
});

/** Documents about the code as it is; results of benchmarks and the changelog are about the past. */
function living(): readonly string[] {
  return documents().filter((path) => !path.startsWith('bench/') && path !== 'CHANGELOG.md');
}

function linksOf(path: string): readonly string[] {
  return [...proseOf(path).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

function targetOf(path: string, link: string): { readonly file: string; readonly anchor: string } {
  const [name = '', anchor = ''] = link.split('#');
  return { file: name === '' ? path : normalize(join(dirname(path), name)), anchor };
}

function leadsSomewhere(path: string, link: string): boolean {
  const { file, anchor } = targetOf(path, link);
  if (!existsSync(join(root, file))) return false;
  return anchor === '' || anchorsOf(file).includes(anchor);
}

/** The anchors of the headings of a document, as GitHub makes them. */
function anchorsOf(path: string): readonly string[] {
  return [...proseOf(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function looksLikeFile(name: string): boolean {
  return folders.includes(name.split('/')[0] ?? '') && name.includes('/')
    ? true
    : /^[\w/-]+\.ts$/.test(name);
}

/** A whole path, or for a module its last parts. A name may hold one star, for any run of characters in its last part. */
function isThere(name: string): boolean {
  if (!name.includes('*')) {
    return existsSync(join(root, name)) || files.some((file) => file.endsWith(`/${name}`));
  }
  const [start = '', end = ''] = name.split('*');
  return files.some(
    (file) =>
      file.startsWith(start) && file.endsWith(end) && !file.slice(start.length).includes('/'),
  );
}

/** A top folder by its path, one below by its name. */
function nameInMap(folder: string): string {
  const parts = folder.split('/');
  return parts.length === 2 ? `\`${folder}/\`` : `\`${parts.at(-1)}/\``;
}

function linesOf(path: string): number {
  return readDocument(path).trimEnd().split('\n').length;
}

function codeText(): string {
  return files
    .filter((name) => /^(src|kernels)\/.*\.ts$/.test(name))
    .map((name) => readFileSync(join(root, name), 'utf8'))
    .join('\n');
}
