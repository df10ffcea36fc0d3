import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/**
 * The promise of ARCHITECTURE.md, kept by a check: which folder may import
 * which, which files alone touch the outside, and how large a file may grow.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  sql: ['arrow'],
  arrow: [],
  store: [],
  policy: ['protocol', 'rules'],
  rules: ['protocol', 'sql'],
  audit: ['protocol', 'arrow', 'store'],
  engine: ['protocol', 'sql', 'arrow', 'store', 'rules'],
  gateway: ['protocol', 'sql', 'arrow', 'store', 'policy', 'rules', 'audit'],
  console: ['protocol', 'policy', 'audit'],
  cli: [
    'protocol',
    'sql',
    'arrow',
    'store',
    'policy',
    'rules',
    'audit',
    'engine',
    'gateway',
    'console',
  ],
};

/** Packages and modules that only these files may import; a folder ends with a slash. */
const confined: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['src/store/embedded-file.ts'],
  ioredis: ['src/store/'],
  casbin: ['src/policy/'],
  'http-proxy': ['src/gateway/'],
  jose: ['src/gateway/tokens/'],
  commander: ['src/cli/'],
  'node:fs': [
    'src/engine/',
    'src/audit/',
    'src/policy/',
    'src/gateway/',
    'src/cli/',
    'src/store/',
    'src/arrow/distance-kernels.ts',
  ],
  'node:http': ['src/gateway/', 'src/protocol/', 'src/cli/'],
};

const MAX_LINES = 600;

/** Files that may be longer, each with the reason. */
const long: Readonly<Record<string, string>> = {};

interface Source {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly { readonly target: string; readonly typeOnly: boolean }[];
}

/** Every breach of the rules under a project's folder, one sentence each. */
export function checkArchitecture(root: string): readonly string[] {
  const sources = readSources(root);
  return [...sources.flatMap(fileFindings), ...cycleFindings(sources)];
}

function readSources(root: string): readonly Source[] {
  const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => readSource(root, join('src', name)));
}

function readSource(root: string, path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s(?:(type)\s)?[^;]*?from\s+'([^']+)';/gm);
  const bare = text.matchAll(/^import\s+'([^']+)';/gm);
  return {
    path,
    text,
    imports: [
      ...[...statements].map(([, type, target]) => ({
        target: target!,
        typeOnly: type !== undefined,
      })),
      ...[...bare].map(([, target]) => ({ target: target!, typeOnly: false })),
    ],
  };
}

const fileRules: readonly ((source: Source) => readonly string[])[] = [
  layerFindings,
  confinementFindings,
  ({ path, text }) =>
    /process\.env/.test(text) && !path.startsWith('src/cli/config')
      ? [`${path}: process.env is read in src/cli/config*.ts only`]
      : [],
  ({ path }) =>
    /(^|\/)index\.ts$/.test(path)
      ? [`${path}: no barrels; import the file that defines the thing`]
      : [],
  ({ path, text }) =>
    /^export\s+(default|\*)/m.test(text) ? [`${path}: exports are named, one by one`] : [],
  lengthFindings,
];

function fileFindings(source: Source): readonly string[] {
  return fileRules.flatMap((rule) => rule(source));
}

function layerFindings(source: Source): readonly string[] {
  const layer = layerOf(source.path);
  const allowed = layers[layer];
  if (allowed === undefined)
    return [`${source.path}: "${layer}" is not a folder of the architecture`];
  return source.imports
    .filter(({ target }) => target.startsWith('.'))
    .map(({ target }) => layerOf(resolve(source.path, target)))
    .filter((target) => target !== layer && !allowed.includes(target))
    .map((target) => `${source.path}: ${layer} may not import ${target}`);
}

function confinementFindings(source: Source): readonly string[] {
  return source.imports.flatMap(({ target, typeOnly }) => {
    const key = Object.keys(confined).find(
      (name) => target === name || target.startsWith(`${name}/`),
    );
    if (key === undefined || typeOnly) return [];
    const allowed = confined[key] ?? [];
    return allowed.some((place) => source.path.startsWith(place))
      ? []
      : [`${source.path}: may not import ${target}`];
  });
}

function lengthFindings({ path, text }: Source): readonly string[] {
  const lines = text.split('\n').length - 1;
  return lines <= MAX_LINES || path in long
    ? []
    : [`${path}: has ${lines} lines, more than ${MAX_LINES}`];
}

/** Import cycles, those of types included: each named once, by the files on it. */
function cycleFindings(sources: readonly Source[]): readonly string[] {
  const edges = new Map(
    sources.map((source) => [
      source.path,
      source.imports
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => resolve(source.path, target)),
    ]),
  );
  const findings = new Set<string>();
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) findings.add(`import cycle: ${trail.slice(at).sort().join(', ')}`);
    if (at >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return [...findings];
}

function resolve(from: string, target: string): string {
  return relative('.', normalize(join(dirname(from), target)));
}

function layerOf(path: string): string {
  return path.split('/')[1] ?? '';
}
