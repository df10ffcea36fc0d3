// Joins what is built into few files: node scripts/bundle.mjs DIST
// A process that starts reads some 1,700 modules otherwise, which takes it longer than all else it
// does. The modules stay beside it, for direct imports.
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { build, transform } from 'esbuild';
import { minify } from 'rolldown/utils';

const root = dirname(import.meta.dirname);
const dist = resolve(process.argv[2]);
const CHUNKS = 'chunks';

/** Entry points. */
const PROGRAMS = [
  'cli/main',
  'cli/package',
  'engine/workers/thread-main',
  'lance/worker/library-main',
  'audit/segments/sealing-thread',
  'audit/search/report-thread',
  'console/trail/trail-thread',
  'cli/service/policy-desk-thread',
  'cli/audit/integrity-thread',
  'gateway/identity/key-thread',
  'policy/reading-thread',
];

/** Those that run by themselves; the others are imported. */
const STARTED = PROGRAMS.filter((name) => name !== 'cli/package');

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
  'ioredis',
  'lmdb',
  'lz4-napi',
  'snowball-stemmers',
];

/** The parts of a package that are used; its entry would bring in five times as much. */
const PARTS = {
  undici: {
    buildConnector: 'lib/core/connect.js',
    Client: 'lib/dispatcher/client.js',
    errors: 'lib/core/errors.js',
  },
};

/** Packages that are joined into the page of the console. */
const PAGE_PACKAGES = ['preact', 'uplot'];

/** Packages that are joined may require modules of Node. */
const requiring = `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(import.meta.url);`;

/** Lines stay short enough for the stack of an error to point into. */
const layout = { minifyWhitespace: true, lineLimit: 240, target: 'node20' };

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
  banner: { js: requiring },
  ...layout,
  minifySyntax: true,
  legalComments: 'linked',
  logLevel: 'warning',
  plugins: [{ name: 'places', setup: places }],
});

for (const path of Object.keys(metafile.outputs).filter((each) => each.endsWith('.js'))) {
  await shorten(path);
}
for (const name of STARTED) await startInOrder(name);
await writeFile(join(dist, 'THIRD-PARTY-NOTICES.txt'), await notices());

/** Shortens names of variables, a fifth of the text. Functions and classes keep theirs, for the stacks of errors. */
async function shorten(path) {
  const text = await readFile(path, 'utf8');
  const names = { function: true, class: true };
  const { code, errors } = await minify(path, text, {
    module: true,
    compress: false,
    mangle: { toplevel: true, keepNames: names },
  });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  const { code: lines } = await transform(code, { ...layout, legalComments: 'inline' });
  await writeFile(path, lines);
}

/** The licenses of the packages that are joined, each text once, below the packages that it is for. */
async function notices() {
  const texts = new Map();
  for (const [name, folder] of joinedPackages()) {
    const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? license : (await readFile(join(folder, file), 'utf8')).trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`]);
  }
  const parts = [...texts].map(([text, names]) => `${names.join(', ')}\n\n${text}\n`);
  return `Arrowgate holds the packages below.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Name and folder of each package with text in the chunks. */
function joinedPackages() {
  const inputs = Object.values(metafile.outputs).flatMap(({ inputs: parts }) =>
    Object.entries(parts).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const found = inputs.flatMap((path) => {
    const [folder, name] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/.exec(path) ?? [];
    return folder === undefined ? [] : [[name, resolve(folder)]];
  });
  const all = [...found, ...PAGE_PACKAGES.map((name) => [name, join(root, 'node_modules', name)])];
  return [...new Map(all.toSorted(([one], [other]) => (one < other ? -1 : 1)))];
}

/**
 * Node opens all files that a module imports at the same time: more than a process with few descriptors
 * has. The program is put beside its name; what has its name imports its files one by one then.
 */
async function startInOrder(name) {
  const file = join(dist, `${name}.js`);
  const program = join(dist, `${name}.program.js`);
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
  onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'parts' }));
  onLoad({ filter: /.*/, namespace: 'parts' }, ({ path }) => ({
    contents: Object.entries(PARTS[path])
      .map(([name, part]) => `export { default as ${name} } from '${path}/${part}';`)
      .join('\n'),
    resolveDir: root,
  }));
  onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
    if (kind === 'entry-point' || !APART.some((name) => isOf(name, path))) return undefined;
    return { path, external: true };
  });
  onLoad({ filter: /\.[cm]?js$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8');
    const own = !relative(dist, path).startsWith('..');
    return { contents: own ? ofItsPlace(text, path) : await withShortNames(text), loader: 'js' };
  });
}

/** The text of a package with short names inside; ours are kept, for the stacks of errors. */
async function withShortNames(text) {
  if (text.includes('constructor.name')) return text;
  const { code } = await transform(text, { minifyIdentifiers: true, legalComments: 'inline' });
  return code;
}

function isOf(name, path) {
  return path === name || path.startsWith(`${name}/`);
}

/** Files beside a module are found from where it was, wherever its text ends up two folders below the root. */
function ofItsPlace(text, path) {
  const from = relative(join(dist, CHUNKS), dirname(path));
  return text.replaceAll('import.meta.url', `new URL('${from}/', import.meta.url)`);
}
