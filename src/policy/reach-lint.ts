import type { Field } from 'apache-arrow';
import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import { operations } from '../protocol/operations/operations.ts';
import { columnsInCheck, COMMITS_FILE } from '../rules/commit-rule.ts';
import type { WrittenRule } from './settings/commits.ts';
import type { LoadedPolicy } from './load.ts';
import { constantTruth } from './filter-truth.ts';
import { nearestName } from './nearest.ts';
import { ANY, formatPattern, patternMatches, EVERYONE, type Pattern } from './lines/pattern.ts';
import type { PolicyFinding } from './lines/policy-error.ts';
import { POLICY_FILE, ruleName, type PolicyLine } from './lines/policy-line.ts';
import { rightsOf } from './lines/rights.ts';
import { RoleGraph } from './lines/role-graph.ts';

/** Existing objects, for checks that compare a policy with them. */
export interface KnownObjects {
  readonly namespaces: readonly ObjectPath[];
  readonly tables: readonly {
    readonly path: ObjectPath;
    /** Undefined where they are not known. */
    readonly columns: () => Promise<readonly Field[] | undefined>;
  }[];
}

/** Denies that bind the administrator as well. */
export function lockoutFindings({ policies, roles }: LoadedPolicy): readonly PolicyFinding[] {
  const names = new RoleGraph(roles).closure(['user:admin', 'role:admin', EVERYONE]);
  return policies.flatMap(({ effect, subject, action, pattern, condition, line }) => {
    if (effect !== 'deny' || !names.has(subject)) return [];
    const by = subject === 'role:admin' ? '' : ` (through ${subject})`;
    const when = condition === undefined ? '' : ', where its condition holds';
    const text = `the deny reaches role:admin${by}: the administrator may not do ${action} on ${formatPattern(pattern)} either${when}`;
    return [{ file: POLICY_FILE, line, text }];
  });
}

/** Lines whose pattern ends with `*` where it meets namespaces, so that they say nothing of the tables below. */
export function shallowFindings(
  { policies }: LoadedPolicy,
  catalog: KnownObjects | undefined,
): readonly PolicyFinding[] {
  const below = catalog === undefined ? namedBelow(policies) : existingBelow(catalog);
  return policies.flatMap((line) => {
    if (!isShallow(line)) return [];
    const found = below(line.pattern);
    if (found === undefined) return [];
    const subtree = { segments: line.pattern.segments.slice(0, -1), below: true };
    const text = `${formatPattern(line.pattern)} does not reach ${found}: write ${formatPattern(subtree)} for everything below`;
    return [{ file: POLICY_FILE, line: line.line, text }];
  });
}

const tableRights = Object.values(operations)
  .filter(({ object }) => object === 'table')
  .map(({ name }) => rightsOf(name));

function isShallow({ pattern, rights }: PolicyLine): boolean {
  if (pattern.below || pattern.segments.at(-1) !== ANY) return false;
  return tableRights.some((right) => right.within(rights));
}

/** Objects below those of a pattern, if none of them is a table. */
type Below = (pattern: Pattern) => string | undefined;

function existingBelow({ namespaces, tables }: KnownObjects): Below {
  return (pattern) => {
    if (tables.some(({ path }) => patternMatches(pattern, path))) return undefined;
    const depth = pattern.segments.length;
    const inside = [...tables.map(({ path }) => path), ...namespaces].find(
      (path) => path.length > depth && patternMatches(pattern, path.slice(0, depth)),
    );
    return inside === undefined ? undefined : canonicalPath(inside);
  };
}

/** Without a catalog: objects of other lines below one of the objects. */
function namedBelow(policies: readonly PolicyLine[]): Below {
  const deep = policies.filter(({ pattern }) => pattern.below || pattern.segments.length > 1);
  return (pattern) => {
    const other = deep.find((line) => isBelow(line.pattern, pattern));
    if (other === undefined) return undefined;
    return `${formatPattern(other.pattern)}, which ${ruleName(other.line)} is about`;
  };
}

function isBelow({ segments, below }: Pattern, { segments: upper }: Pattern): boolean {
  const last = upper.length - 1;
  if (segments.length < upper.length + (below ? 0 : 1) || segments[last] === ANY) return false;
  return upper.every((segment, at) => segment === ANY || segment === segments[at]);
}

/** Checks of commit rules that are the same for every row. */
export function checkFindings({ snapshot }: LoadedPolicy): readonly PolicyFinding[] {
  return snapshot.commits.rules.flatMap(({ name, line, require: { check } }) => {
    const truth = check === undefined ? undefined : constantTruth(check);
    if (truth === undefined) return [];
    const text = truth
      ? `the check of the rule ${name} is true for every row: it refuses nothing`
      : `the check of the rule ${name} is true for no row: it refuses all`;
    return [{ file: COMMITS_FILE, line, text }];
  });
}

/** Checks of commit rules on columns that no table has which they cover. */
export async function columnFindings(
  rules: readonly WrittenRule[],
  { tables }: KnownObjects,
): Promise<readonly PolicyFinding[]> {
  const findings: PolicyFinding[] = [];
  for (const rule of rules) {
    const named = namedColumns(rule);
    if (named.length === 0) continue;
    const covered = tables.filter(({ path }) => rule.covers(path));
    const columns: (readonly string[])[] = [];
    for (const table of covered) {
      columns.push(((await table.columns()) ?? []).map(({ name }) => name));
    }
    const nonEmpty = columns.filter((names) => names.length > 0);
    if (nonEmpty.length > 0)
      findings.push(...missingColumns(rule, named, new Set(nonEmpty.flat())));
  }
  return findings;
}

function namedColumns({ require: { check, unique = [] } }: WrittenRule): readonly string[] {
  return [...new Set([...(check === undefined ? [] : columnsInCheck(check)), ...unique])];
}

function missingColumns(
  { name, line }: WrittenRule,
  named: readonly string[],
  names: ReadonlySet<string>,
): readonly PolicyFinding[] {
  const lower = new Set([...names].map((column) => column.toLowerCase()));
  const missing = named.filter((column) => !lower.has(column.toLowerCase()));
  return missing.map((column) => {
    const near = nearestName(column, names);
    const hint = near === undefined ? '' : `: did you mean ${near}?`;
    const text = `the rule ${name} checks the column ${column}, which no table has that it covers${hint}`;
    return { file: COMMITS_FILE, line, text };
  });
}
