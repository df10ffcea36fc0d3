// Gathers the types that the package exports: node scripts/types.mjs DIST
// Copies the declarations that its entry reaches into `types/`, and removes all others.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

const dist = resolve(process.argv[2]);
const ENTRY = join(dist, 'cli/package.d.ts');

/** A module that a declaration names: `from '…'`, `import("…")`. */
const NAMED = /(?<=\bfrom |\bimport\()(['"])(\.[^'"]+)\.[jt]s\1/g;

const reached = new Set();
await reach(ENTRY);
for (const file of reached) {
  const target = join(dist, 'types', relative(dist, file));
  await mkdir(dirname(target), { recursive: true });
  const text = await readFile(file, 'utf8');
  // Compilers of other projects find the declaration by the name of the program.
  await writeFile(target, text.replace(NAMED, '$1$2.js$1'));
}
for (const name of await readdir(dist, { recursive: true })) {
  if (name.endsWith('.d.ts') && !name.startsWith('types/')) await rm(join(dist, name));
}

async function reach(file) {
  if (reached.has(file)) return;
  reached.add(file);
  for (const [, , name] of (await readFile(file, 'utf8')).matchAll(NAMED)) {
    await reach(join(dirname(file), `${name}.d.ts`));
  }
}
