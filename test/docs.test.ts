import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { referenceDocs } from '../scripts/reference-docs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the documents', () => {
  it.each(Object.entries(referenceDocs()))(
    '%s says what the table in the code says',
    (path, text) => {
      expect(read(path)).toBe(text);
    },
  );

  const prose = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'];

  it.each(prose)('%s names only files that exist', (path) => {
    const named =
      read(path).match(/`((?:src|test|docs|examples|policies|scripts|bench)\/[\w./*-]*)`/g) ?? [];
    const missing = named.map((name) => name.slice(1, -1)).filter((name) => !isThere(name));
    expect(missing).toEqual([]);
  });

  it('draw every folder of the code in ARCHITECTURE.md', () => {
    const folders = readdirSync(join(root, 'src'));
    const text = read('ARCHITECTURE.md');
    expect(folders.filter((folder) => !text.includes(`| \`src/${folder}/\` `))).toEqual([]);
  });
});

/** A name may hold one star, for any run of characters in its last part. */
function isThere(name: string): boolean {
  if (!name.includes('*')) return existsSync(join(root, name));
  const folder = name.slice(0, name.lastIndexOf('/'));
  const [start = '', end = ''] = name.slice(folder.length + 1).split('*');
  return readdirSync(join(root, folder)).some(
    (file) => file.startsWith(start) && file.endsWith(end),
  );
}
