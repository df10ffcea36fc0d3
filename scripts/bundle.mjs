// Joins what is built into few files: node scripts/bundle.mjs DIST
// A process that starts reads some 1,700 modules otherwise, which takes it longer than all else it
// does. The modules stay beside it, for their types and for direct imports.
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const dist = resolve(process.argv[2]);
const CHUNKS = 'chunks';

/** Entry points. */
const PROGRAMS = [
  'cli/main',
  'cli/create-gateway',
  'engine/workers/thread-main',
  'audit/segments/sealing-thread',
  'gateway/identity/key-thread',
  'policy/reading-thread',
];

/** Packages of many small modules, or ones that every command loads; all others are loaded where they are installed. */
const JOINED = [
  'apache-arrow',
  'flatbuffers',
  'ipaddr.js',
  'jose',
  'lossless-json',
  'tslib',
  'typebox',
];

await build({
  entryPoints: PROGRAMS.map((name) => ({ in: join(dist, `${name}.js`), out: name })),
  outdir: dist,
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  legalComments: 'linked',
  logLevel: 'warning',
  plugins: [{ name: 'places', setup: places }],
});

function places({ onResolve, onLoad }) {
  onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
    if (kind === 'entry-point' || JOINED.some((name) => isOf(name, path))) return undefined;
    return { path, external: true };
  });
  onLoad({ filter: /\.js$/ }, async ({ path }) => {
    if (relative(dist, path).startsWith('..')) return undefined;
    return { contents: ofItsPlace(await readFile(path, 'utf8'), path), loader: 'js' };
  });
}

function isOf(name, path) {
  return path === name || path.startsWith(`${name}/`);
}

/** Files beside a module are found from where it was, wherever its text ends up two folders below the root. */
function ofItsPlace(text, path) {
  const from = relative(join(dist, CHUNKS), dirname(path));
  return text.replaceAll('import.meta.url', `new URL('${from}/', import.meta.url)`);
}
