import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/**
 * The rules of ARCHITECTURE.md as a check: which folder may import which, which files
 * alone touch the outside, how large a file may grow and how full a folder may get.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  arrow: [],
  sql: ['arrow'],
  storage: [],
  store: ['storage'],
  rules: ['protocol', 'sql'],
  policy: ['protocol', 'sql', 'rules'],
  audit: ['protocol', 'arrow', 'storage', 'store'],
  engine: ['protocol', 'sql', 'arrow', 'storage', 'store', 'rules'],
  lance: ['protocol', 'arrow', 'store', 'engine'],
  gateway: ['protocol', 'sql', 'arrow', 'storage', 'store', 'policy', 'rules', 'audit'],
  console: ['protocol', 'policy', 'audit', 'gateway'],
  cli: [
    'protocol',
    'sql',
    'arrow',
    'storage',
    'store',
    'policy',
    'rules',
    'audit',
    'engine',
    'lance',
    'gateway',
    'console',
  ],
};

/** Every folder of `src/`, lowest first. A folder imports only from folders before it. */
const floors: readonly string[] = [
  'protocol/operations',
  'protocol',
  'protocol/models',
  'protocol/openapi',
  'arrow',
  'arrow/ipc',
  'arrow/sealed',
  'arrow/distance',
  'sql/values',
  'sql/patterns',
  'sql/parse',
  'sql/compare',
  'sql/evaluate',
  'sql/cast',
  'sql/bind',
  'sql/functions',
  'sql',
  'storage',
  'storage/bucket',
  'storage/vending',
  'store',
  'store/embedded',
  'store/redis',
  'store/open',
  'rules',
  'policy/conditions',
  'policy/lines',
  'policy/settings',
  'policy/decide',
  'policy',
  'audit/record',
  'audit/chain',
  'audit/signing',
  'audit/checkpoints',
  'audit/segments',
  'audit/instances',
  'audit/search',
  'audit/decided',
  'audit/verification',
  'audit',
  'audit/archive',
  'engine/base',
  'engine/tokens',
  'engine/format/memory',
  'engine/format',
  'engine/format/lance',
  'engine/request',
  'engine/index/keys',
  'engine/index/vectors',
  'engine/index/text',
  'engine/query/scan',
  'engine/query/restrict',
  'engine/query/plan',
  'engine/query/rows',
  'engine/query/search',
  'engine/query',
  'engine/indexing',
  'engine/catalog/records',
  'engine/catalog/journal',
  'engine/catalog',
  'engine/versions/leases',
  'engine/versions/lines',
  'engine/once',
  'engine/versions/managed',
  'engine/versions',
  'engine/change',
  'engine/rules',
  'engine/upkeep/jobs',
  'engine/upkeep/conversion',
  'engine/upkeep/retention',
  'engine/upkeep/recovery',
  'engine/upkeep/verification',
  'engine/upkeep/upgrade',
  'engine/workers',
  'engine/handlers/call',
  'engine/virtual',
  'engine/handlers/columns',
  'engine/handlers/tables',
  'engine/handlers/versions',
  'engine/handlers/rows',
  'engine/handlers/jobs',
  'engine/handlers',
  'engine',
  'lance/wire',
  'lance/worker',
  'lance',
  'gateway/http',
  'gateway/telemetry',
  'gateway/backends',
  'gateway/decision',
  'gateway/identity',
  'gateway',
  'gateway/replay',
  'console/sessions',
  'console/trail',
  'console/policy',
  'console',
  'cli/output',
  'cli/config',
  'cli/processes',
  'cli/service',
  'cli/policy',
  'cli/evidence',
  'cli/audit',
  'cli/catalog',
  'cli/keys',
  'cli',
];

/** Packages and modules that only these files may import; a folder ends with a slash. */
const confined: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['src/store/embedded/file.ts'],
  'fs-native-extensions': ['src/store/embedded/write-lock.ts'],
  ioredis: ['src/store/'],
  casbin: ['src/policy/'],
  'http-proxy': ['src/gateway/backends/'],
  undici: ['src/gateway/backends/'],
  jose: ['src/gateway/identity/'],
  commander: ['src/cli/'],
  'node:fs': [
    // The engine reads and writes files through a storage; this one loads a program file.
    'src/engine/index/vectors/code-kernels.ts',
    'src/policy/',
    'src/gateway/',
    'src/console/static-files.ts',
    'src/cli/',
    // The file that LMDB opens, notes that need not be durable, and processes in /proc.
    'src/store/embedded/file.ts',
    'src/store/embedded/file-head.ts',
    'src/store/embedded/write-lock.ts',
    'src/store/embedded/write-room.ts',
    'src/store/embedded/notes.ts',
    'src/store/process-mark.ts',
    // Temporary files that processes leave.
    'src/store/process-scratch.ts',
    'src/storage/',
    'src/lance/worker/library-main.ts',
    // Rows that the gateway has written for the process.
    'src/lance/worker/shared-rows.ts',
    'src/arrow/distance/distance-kernels.ts',
  ],
  'node:http': ['src/gateway/', 'src/protocol/', 'src/cli/', 'src/lance/worker/'],
  '@aws-sdk/client-s3': [
    'src/storage/bucket/bucket-client.ts',
    'src/storage/bucket/object-requests.ts',
  ],
  '@aws-sdk/client-sts': ['src/storage/vending/sts-client.ts'],
  '@lancedb/lancedb': ['src/lance/worker/'],
};

/** The entry of the package: it alone exports what other files define. */
const ENTRY = 'src/cli/package.ts';

const MAX_LINES = 600;
/** Beyond this a reader cannot take in a folder at a glance. */
const MAX_FILES = 40;

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
  return [
    ...sources.flatMap(fileFindings),
    ...folderFindings(sources),
    ...nameFindings(sources),
    ...cycleFindings(sources),
  ];
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
  floorFindings,
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
  ({ path, text }) =>
    path !== ENTRY && /^export\s+(type\s+)?\{/m.test(text)
      ? [`${path}: no exports in braces; export a thing where it is defined`]
      : [],
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

/** Imports of one layer that go up, and folders that have no floor. */
function floorFindings(source: Source): readonly string[] {
  const folder = folderOf(source.path);
  const floor = floors.indexOf(folder);
  if (floor < 0) {
    return layerOf(source.path) in layers
      ? [`${source.path}: "${folder}" has no floor; add it to scripts/architecture-rules.ts`]
      : [];
  }
  return source.imports
    .filter(({ target }) => target.startsWith('.'))
    .map(({ target }) => folderOf(resolve(source.path, target)))
    .filter(
      (target) =>
        floors.indexOf(target) > floor && layerOf(`src/${target}`) === layerOf(source.path),
    )
    .map((target) => `${source.path}: ${folder} may not import ${target}, which is a higher floor`);
}

function folderFindings(sources: readonly Source[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of sources) {
    const folder = dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([folder, count]) => `${folder}: has ${count} files, more than ${MAX_FILES}`);
}

const EXPORTED =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|interface|type|const|let|enum)\s+(\w+)/gm;

/** Names that two files export. */
function nameFindings(sources: readonly Source[]): readonly string[] {
  const places = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    for (const [, name] of text.matchAll(EXPORTED)) {
      places.set(name!, (places.get(name!) ?? new Set()).add(path));
    }
  }
  return [...places]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `"${name}" is exported twice: ${[...paths].join(', ')}`);
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

function folderOf(path: string): string {
  return relative('src', dirname(path));
}

function layerOf(path: string): string {
  return path.split('/')[1] ?? '';
}
