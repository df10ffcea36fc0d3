import { canonicalPath } from '../protocol/identifier.ts';
import { columnsInCheck, columnsOf } from '../rules/commit-rule.ts';
import { bindPredicate } from '../sql/bind.ts';
import { anyValue } from '../sql/compare/value-range.ts';
import { parseExpression } from '../sql/parse.ts';
import { may, possibleStates } from '../sql/possible.ts';
import type { Expression } from '../sql/values/expression.ts';
import { SqlError } from '../sql/values/sql-error.ts';
import { EVERYONE, formatPattern, intersect, patternMatches } from './lines/pattern.ts';
import type { PolicyFinding } from './lines/policy-error.ts';
import { RoleGraph } from './lines/role-graph.ts';
import type { LoadedPolicy } from './load.ts';
import { nearestName } from './nearest.ts';
import type { KnownObjects } from './reach-lint.ts';
import { KEY_HINT } from './settings/canaries.ts';
import { RESTRICTIONS_FILE, type WrittenRestriction } from './settings/restrictions.ts';
import { withoutCaller } from './settings/row-values.ts';

/** Restrictions that bind nobody, and row filters that are the same for every row and every caller. */
export function restrictionFindings(policy: LoadedPolicy): readonly PolicyFinding[] {
  const roles = new RoleGraph(policy.roles);
  return policy.snapshot.restrictions.restrictions.flatMap((one) =>
    findingsOf(one, [nobodyText(one, roles), constantText(one), ...canaryTexts(one)]),
  );
}

/** Restrictions of tables that no line allows anything on. */
export function unreachedFindings({ policies, snapshot }: LoadedPolicy): readonly PolicyFinding[] {
  if (snapshot.slow) return [];
  const allows = policies.filter(({ effect }) => effect === 'allow');
  return snapshot.restrictions.restrictions.flatMap((one) => {
    const unreached = one.patterns.filter(
      (pattern) => !allows.some((line) => intersect(line.pattern, pattern) !== undefined),
    );
    return findingsOf(
      one,
      unreached.map((pattern) => {
        const path = formatPattern(pattern);
        return `the restriction ${one.name} binds nobody on ${path}: no line allows anything there`;
      }),
    );
  });
}

function findingsOf(
  { line }: WrittenRestriction,
  texts: readonly (string | undefined)[],
): readonly PolicyFinding[] {
  const found = texts.filter((text) => text !== undefined);
  return found.map((text) => ({ file: RESTRICTIONS_FILE, line, text }));
}

function nobodyText(
  { name, subjects, except, canary }: WrittenRestriction,
  roles: RoleGraph,
): string | undefined {
  if (canary !== undefined && !except.includes(EVERYONE)) return undefined;
  const exempt = new Set(except);
  const bound = (subjects ?? [EVERYONE]).filter((subject) => {
    for (const held of roles.closure([subject, EVERYONE])) if (exempt.has(held)) return false;
    return true;
  });
  if (bound.length > 0) return undefined;
  return `the restriction ${name} binds nobody: all of its subjects are exempt by ${except.join(', ')}`;
}

/** Two moments, in nanoseconds since 1970: a filter that looks at the clock may differ between them. */
const MOMENTS = [0n, 4_000_000_000_000_000_000n];

function constantText({ name, rows }: WrittenRestriction): string | undefined {
  const truth = rows === null ? undefined : constantTruth(rows);
  if (truth === undefined) return undefined;
  const filter = `the row filter of ${name}`;
  return truth
    ? `${filter} is true for every row: it hides nothing`
    : `${filter} is true for no row: it hides all`;
}

function canaryTexts({ name, canary }: WrittenRestriction): readonly string[] {
  if (canary === undefined) return [];
  const truth = constantTruth(canary.sql);
  if (truth === true) return [`the canary of ${name} is true for every row: it hides all`];
  if (truth === false) return [`the canary of ${name} is true for no row: it hides nothing`];
  if (canary.keys.length > 0) return [];
  return [`the canary of ${name} has no key, so no query for it is found: ${KEY_HINT}`];
}

/** Whether a filter is true for every row or for none; undefined if that depends on more than the filter. */
function constantTruth(sql: string): boolean | undefined {
  return truthOf(parseExpression(sql));
}

/** The same of a part of it. Values of the caller are columns here. */
function truthOf(part: Expression): boolean | undefined {
  if (part.kind === 'and' || part.kind === 'or') {
    const deciding = part.kind === 'or';
    const truths = part.operands.map(truthOf);
    if (truths.includes(deciding)) return deciding;
    return truths.includes(undefined) ? undefined : !deciding;
  }
  if (columnsOf(part).length > 0) return undefined;
  const found = new Set(MOMENTS.map((now) => statesOf(part, now)));
  const [states] = found;
  if (found.size > 1 || states === undefined) return undefined;
  if (states === may.beTrue) return true;
  return (states & may.beTrue) === 0 ? false : undefined;
}

function statesOf(part: Expression, now: bigint): number | undefined {
  try {
    return possibleStates(bindPredicate(part, { fields: [], now }))(() => anyValue);
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    throw error;
  }
}

/** Columns of restrictions that tables do not have: these tables are closed to the callers whom they bind. */
export async function closedTableFindings(
  restrictions: readonly WrittenRestriction[],
  { tables }: KnownObjects,
): Promise<readonly PolicyFinding[]> {
  const findings: PolicyFinding[] = [];
  for (const one of restrictions) {
    const covered: Covered[] = [];
    for (const { path, columns } of tables) {
      if (!one.patterns.some((pattern) => patternMatches(pattern, path))) continue;
      const names = await columns();
      if (names !== undefined) covered.push({ path: canonicalPath(path), names });
    }
    const texts = namedColumns(one).map((column) => missingText(one, column, covered));
    findings.push(...findingsOf(one, texts));
  }
  return findings;
}

/** A table that a restriction is about. */
interface Covered {
  readonly path: string;
  readonly names: readonly string[];
}

/** A column of a row filter may differ in case from that of the table; a masked one may not. */
interface NamedColumn {
  readonly column: string;
  readonly anyCase: boolean;
}

function namedColumns({ rows, columns, canary }: WrittenRestriction): readonly NamedColumn[] {
  const filtered = [
    ...(rows === null ? [] : columnsInCheck(withoutCaller(rows))),
    ...(canary === undefined ? [] : columnsInCheck(canary.sql)),
  ];
  return [
    ...filtered.map((column) => ({ column, anyCase: true })),
    ...columns.map(({ column }) => ({ column, anyCase: false })),
  ];
}

function missingText(
  { name }: WrittenRestriction,
  { column, anyCase }: NamedColumn,
  covered: readonly Covered[],
): string | undefined {
  const spelt = (text: string) => (anyCase ? text.toLowerCase() : text);
  const lacking = covered.filter(({ names }) => !names.map(spelt).includes(spelt(column)));
  const [first, ...others] = lacking;
  if (first === undefined) return undefined;
  if (lacking.length < covered.length) {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    return `the restriction ${name} closes ${first.path}${more}, without the column ${column}`;
  }
  const near = nearestName(column, new Set(covered.flatMap(({ names }) => names)));
  const hint = near === undefined ? '' : `: did you mean ${near}?`;
  return `the restriction ${name} names the column ${column}, which no table has that it covers${hint}`;
}
