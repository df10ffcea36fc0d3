import { parsePattern } from '../../policy/lines/pattern.ts';
import { SYSTEM, type Databases } from '../../protocol/database.ts';
import { parseCanonicalPath } from '../../protocol/identifier.ts';
import { good, type SettingKind, type SettingReading } from './config-kinds.ts';

/** Canonical paths by the names of databases. */
type DatabaseSettings = Readonly<Record<string, string>>;

const NAME = /^[\x21-\x7e]{1,256}$/;

/** Values of `x-lancedb-database`, each with the namespace that is the root of that database. */
export const databases: SettingKind<DatabaseSettings> = {
  name: 'map',
  text: { kind: 'yaml', example: '{ prod: /prod }' },
  read,
};

/** The namespaces of a configuration, parsed. */
export function databasesOf(settings: DatabaseSettings): Databases {
  return new Map(Object.entries(settings).map(([name, path]) => [name, parseCanonicalPath(path)]));
}

function read(value: unknown): SettingReading<DatabaseSettings> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'wrong', must: 'names with a namespace each, such as { prod: /prod }' };
  }
  const found: [string, string][] = [];
  for (const [name, text] of Object.entries(value)) {
    if (!NAME.test(name) || !isRoot(text)) return wrong(name, text);
    found.push([name, text]);
  }
  return good(Object.fromEntries(found));
}

function wrong(name: string, found: unknown): SettingReading<never> {
  const must = NAME.test(name)
    ? `the canonical path of a namespace outside of /${SYSTEM}, such as /prod`
    : 'under a name of 1 to 256 visible ASCII characters';
  return { kind: 'wrong', must, at: [name], found };
}

/** Whether a text is the canonical path of a namespace that may be a root. */
function isRoot(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  if (text === '/') return true;
  const result = parsePattern(text);
  if ('fault' in result || result.pattern.below) return false;
  return !result.pattern.segments.includes(null) && result.pattern.segments[0] !== SYSTEM;
}
