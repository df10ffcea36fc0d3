import { readFileSync } from 'node:fs';
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Pair,
} from 'yaml';
import { ConfigError, sourceText, type Given, type SettingSource } from './config-source.ts';
import { configPaths, settingOf, type ConfigPath } from './config-table.ts';

/** The text of a file; undefined if there is none. @throws ConfigError when it cannot be read */
export function readConfigFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT') return undefined;
    throw new ConfigError(`${path} cannot be read (${code})`);
  }
}

/** The keys of a configuration file. @throws ConfigError naming file, line and key */
export function fileSource(path: string, text: string): SettingSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [fault] = document.errors;
  if (fault !== undefined) {
    const { line } = lines.linePos(fault.pos[0]);
    throw new ConfigError(
      fault.code === 'DUPLICATE_KEY'
        ? `${path}:${line}: ${wordAt(text, fault.pos[0])} is given more than once`
        : `${path}:${line}: this is not valid YAML (${fault.code})`,
    );
  }
  const found = new Map<ConfigPath, Given>();
  collect({ path, document, lines, found }, document.contents, '', `${path}:1: the file`);
  return found;
}

/** The key that stands at a place of a text, as it is written. */
function wordAt(text: string, at: number): string {
  return /^["']?[\w.-]*["']?/.exec(text.slice(at, at + 64))?.[0] ?? '';
}

interface Walk {
  readonly path: string;
  readonly document: Document;
  readonly lines: LineCounter;
  readonly found: Map<ConfigPath, Given>;
}

function collect(walk: Walk, node: unknown, prefix: string, where: string): void {
  const target = isAlias(node) ? node.resolve(walk.document) : node;
  if (target === null || (isScalar(target) && target.value === null)) return;
  if (!isMap(target)) throw new ConfigError(`${where} must hold keys and values`);
  for (const pair of target.items) collectPair(walk, pair, prefix);
}

function collectPair(walk: Walk, pair: Pair, prefix: string): void {
  const name = isScalar(pair.key) ? String(pair.key.value) : '?';
  const key = prefix === '' ? name : `${prefix}.${name}`;
  const start = isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
  const where = `${walk.path}:${walk.lines.linePos(start).line}: ${key}`;
  const path = configPaths.find((each) => each === key && settingOf(each).secret !== true);
  if (path !== undefined) {
    walk.found.set(path, {
      value: plainValue(walk, pair.value),
      where,
      inside: (place) => insideOf(walk, pair, key, place),
    });
  } else if (configPaths.some((each) => each.startsWith(`${key}.`))) {
    collect(walk, pair.value, key, where);
  } else {
    throw new ConfigError(`${where} is not a key of the configuration`);
  }
}

function plainValue(walk: Walk, node: unknown): unknown {
  return isNode(node) ? node.toJS(walk.document) : node;
}

/** Line of a part of a value: its own, or that of the nearest enclosing part. */
function insideOf(
  { path, document, lines }: Walk,
  pair: Pair,
  key: string,
  place: readonly (string | number)[],
): string {
  let node: unknown = pair.value;
  let start = startOf(pair.key);
  for (const step of place) {
    const around = isAlias(node) ? node.resolve(document) : node;
    const inner = stepInto(around, step);
    if (inner === undefined) break;
    start = inner.start;
    node = inner.node;
  }
  return `${path}:${lines.linePos(start).line}: ${key}${sourceText(place)}`;
}

function stepInto(
  node: unknown,
  step: string | number,
): { readonly node: unknown; readonly start: number } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return item === undefined ? undefined : { node: item, start: startOf(item) };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
  return pair === undefined ? undefined : { node: pair.value, start: startOf(pair.key) };
}

function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}
