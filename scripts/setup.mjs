// Installs what is missing and builds what is stale. Needs nothing but Node: it runs before
// anything is installed. All output goes to standard error, so that the output of the command
// after it is its own.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BUNDLE = join(root, 'scripts/bundle.mjs');
const TYPES = join(root, 'scripts/types.mjs');
const INSTALLED = join(root, 'node_modules/.arrowgate-lock');
const TSC = join(root, 'node_modules/typescript/bin/tsc');
const ASC = join(root, 'node_modules/assemblyscript/bin/asc.js');
const VITE = join(root, 'node_modules/vite/bin/vite.js');
const BUILT = join(root, 'dist/.arrowgate-sources');

try {
  requireNode(20, 19);
  step('installing packages', INSTALLED, lockDigest(), () =>
    run('npm', ['ci', '--no-fund', '--no-audit']),
  );
  step('building', BUILT, sourcesDigest(), build);
} catch (error) {
  process.stderr.write(`arrowgate: ${error.message}\n`);
  process.exitCode = 2;
}

/** Builds beside the last build and then takes its place, so that a failed build leaves a working one. */
function build() {
  const next = join(root, `dist.${process.pid}`);
  try {
    run(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', next]);
    run(process.execPath, [ASC, ...kernelFlags(join(next, 'kernels/distance.wasm'))]);
    run(process.execPath, [ASC, ...codesFlags(join(next, 'kernels/codes.wasm'))]);
    run(process.execPath, [TYPES, next]);
    run(process.execPath, [BUNDLE, next]);
    const page = ['build', 'console', '--outDir', join(next, 'console-page'), '--logLevel', 'warn'];
    run(process.execPath, [VITE, ...page]);
    rmSync(join(root, 'dist'), { recursive: true, force: true });
    renameSync(next, join(root, 'dist'));
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** The kernels are WebAssembly that needs no runtime: memory of eight pages, laid out by its caller. */
function kernelFlags(output) {
  const memory = [
    '--initialMemory',
    '8',
    '--maximumMemory',
    '8',
    '--runtime',
    'stub',
    '--noAssert',
  ];
  return ['kernels/distance.ts', '-O3', '--enable', 'simd', ...memory, '--outFile', output];
}

/** The kernels of codes use the memory of their caller: one for each file of codes. */
function codesFlags(output) {
  const memory = ['--importMemory', '--runtime', 'stub', '--noAssert'];
  return ['kernels/codes.ts', '-O3', '--enable', 'simd', ...memory, '--outFile', output];
}

/** Does the work unless the stamp says that it was done for the same digest. */
function step(title, stamp, digest, work) {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  process.stderr.write(`arrowgate: ${title} …\n`);
  work();
  writeFileSync(stamp, digest);
}

function lockDigest() {
  return digestOf([readFileSync(join(root, 'package-lock.json'))]);
}

/** Paths, sizes and times are enough to tell that something changed, and quick to read. */
function sourcesDigest() {
  const files = [
    ...filesBelow('src', /\.ts$/),
    ...filesBelow('console', /\.(tsx?|css|html|json|svg)$/),
    join(root, 'tsconfig.json'),
    join(root, 'tsconfig.build.json'),
    join(root, 'kernels/distance.ts'),
    join(root, 'kernels/codes.ts'),
    BUNDLE,
    TYPES,
    INSTALLED,
  ];
  return digestOf(
    files.filter(existsSync).map((file) => {
      const { size, mtimeMs } = statSync(file);
      return `${file}:${size}:${mtimeMs}\n`;
    }),
  );
}

function filesBelow(folder, wanted) {
  const names = readdirSync(join(root, folder), { recursive: true });
  return names.filter((name) => wanted.test(name)).map((name) => join(root, folder, name));
}

function digestOf(parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} failed`);
}

function requireNode(major, minor) {
  const [haveMajor, haveMinor] = process.versions.node.split('.').map(Number);
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return;
  throw new Error(`needs Node ${major}.${minor} or newer, this is ${process.versions.node}`);
}
