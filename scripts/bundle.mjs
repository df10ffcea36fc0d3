// Joins what is built into few files: node scripts/bundle.mjs DIST
// A process that starts reads some 1,700 modules otherwise, which takes it longer than all else it
// does. The modules stay beside it, for their types and for direct imports.
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const dist = resolve(process.argv[2]);
const CHUNKS = 'chunks';

/** Entry points. */
const PROGRAMS = [
  'cli/main',
  'cli/create-gateway',
  'engine/workers/thread-main',
  'lance/worker/library-main',
  'audit/segments/sealing-thread',
  'audit/search/report-thread',
  'console/trail/trail-thread',
  'gateway/identity/key-thread',
  'policy/reading-thread',
];

/** Those that run by themselves; the others are imported. */
const STARTED = PROGRAMS.filter((name) => name !== 'cli/create-gateway');

/** Processes that may open fewer files begin with one file at a time. */
const FEW_FILES = 256;

const starter = `#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const files = FILES;

/** How many files the process may open; unlimited where the system does not tell. */
function openFiles() {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

if (openFiles() < ${FEW_FILES}) for (const file of files) await import(file);
await import(PROGRAM);
`;

/** Packages with native code or with files of their own, and ones that few processes load. All others are joined. */
const APART = [
  '@aws-sdk',
  '@foxglove/wasm-zstd',
  '@lancedb/lancedb',
  '@node-rs/crc32',
  '@opentelemetry',
  'fs-native-extensions',
  'lmdb',
  'lz4-napi',
];

/** Packages that are joined may require modules of Node. */
const requiring = `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(import.meta.url);`;

const { metafile } = await build({
  metafile: true,
  entryPoints: PROGRAMS.map((name) => ({ in: join(dist, `${name}.js`), out: name })),
  outdir: dist,
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  banner: { js: requiring },
  legalComments: 'linked',
  logLevel: 'warning',
  plugins: [{ name: 'places', setup: places }],
});

for (const name of STARTED) await startInOrder(name);

/**
 * Node opens all files that a module imports at the same time: more than a process with few descriptors
 * has. The program is put beside its name; what has its name imports its files one by one then.
 */
async function startInOrder(name) {
  const file = join(dist, `${name}.js`);
  const program = join(dist, `${name}-program.js`);
  await rename(file, program);
  const own = (path) => `./${relative(dirname(file), path)}`;
  const chunks = leavesFirst(file).filter((path) => path !== file);
  const text = starter.replace('FILES', JSON.stringify(chunks.map(own), null, 2));
  const { mode } = await stat(program);
  await writeFile(file, text.replace('PROGRAM', JSON.stringify(own(program))), { mode });
}

/** What a file imports, now or later, each behind its own imports. */
function leavesFirst(file) {
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([path, { imports }]) => [resolve(path), imports]),
  );
  const found = new Set();
  const visit = (path) => {
    if (found.has(path) || !outputs.has(path)) return;
    found.add(path);
    for (const { path: next } of outputs.get(path)) visit(resolve(next));
    order.push(path);
  };
  const order = [];
  visit(file);
  return order;
}

function places({ onResolve, onLoad }) {
  onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
    if (kind === 'entry-point' || !APART.some((name) => isOf(name, path))) return undefined;
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
