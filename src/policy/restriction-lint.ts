import type { Field } from 'apache-arrow';
import { canonicalPath } from '../protocol/identifier.ts';
import type { Mask } from '../protocol/restrictions.ts';
import { columnsInCheck } from '../rules/commit-rule.ts';
import { maskFits } from '../rules/mask-fit.ts';
import { bindPredicate } from '../sql/bind.ts';
import { parseExpression } from '../sql/parse.ts';
import { SqlError } from '../sql/values/sql-error.ts';
import { sqlTypeName } from '../sql/values/types.ts';
import { constantTruth } from './filter-truth.ts';
import { EVERYONE, formatPattern, intersect, patternMatches } from './lines/pattern.ts';
import type { PolicyFinding } from './lines/policy-error.ts';
import { RoleGraph } from './lines/role-graph.ts';
import type { LoadedPolicy } from './load.ts';
import { nearestName } from './nearest.ts';
import type { KnownObjects } from './reach-lint.ts';
import { KEY_HINT } from './settings/canaries.ts';
import { formatMask } from './settings/masks.ts';
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

/** Restrictions that do not fit the columns of tables, which are closed to the callers whom they bind. */
export async function closedTableFindings(
  restrictions: readonly WrittenRestriction[],
  { tables }: KnownObjects,
): Promise<readonly PolicyFinding[]> {
  const findings: PolicyFinding[] = [];
  for (const one of restrictions) {
    const covered: Covered[] = [];
    for (const { path, columns } of tables) {
      if (!one.patterns.some((pattern) => patternMatches(pattern, path))) continue;
      const fields = await columns();
      if (fields !== undefined) covered.push({ path: canonicalPath(path), fields });
    }
    const missing = namedColumns(one).map((column) => missingText(one, column, covered));
    // A row filter and a mask may name one column.
    findings.push(...findingsOf(one, [...new Set([...missing, ...misfitTexts(one, covered)])]));
  }
  return findings;
}

/** A table that a restriction is about. */
interface Covered {
  readonly path: string;
  readonly fields: readonly Field[];
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
  const names = covered.map(({ fields }) => fields.map((field) => field.name));
  const lacking = covered.filter((_, at) => !names[at]!.map(spelt).includes(spelt(column)));
  if (lacking.length === 0) return undefined;
  if (lacking.length < covered.length) {
    return `the restriction ${name} closes ${listed(lacking)}, without the column ${column}`;
  }
  const near = nearestName(column, new Set(names.flat()));
  const hint = near === undefined ? '' : `: did you mean ${near}?`;
  return `the restriction ${name} names the column ${column}, which no table has that it covers${hint}`;
}

function listed([first, ...others]: readonly Covered[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${first!.path}${more}`;
}

/** Masks and SQL that the types of columns do not take. */
function misfitTexts(
  { name, rows, columns, canary }: WrittenRestriction,
  covered: readonly Covered[],
): readonly string[] {
  const filters = [
    ...(rows === null ? [] : [{ what: 'row filter', sql: withoutCaller(rows) }]),
    ...(canary === undefined ? [] : [{ what: 'canary', sql: canary.sql }]),
  ];
  const misfits = [
    ...columns.flatMap(({ column, as }) =>
      as === 'hidden' ? [] : [misfitOf(covered, (fields) => maskFault(column, as, fields))],
    ),
    ...filters.map(({ what, sql }) =>
      misfitOf(covered, (fields) => filterFault(fields, sql, `the ${what}`)),
    ),
  ];
  return misfits.flatMap((misfit) =>
    misfit === undefined
      ? []
      : [`the restriction ${name} closes ${listed(misfit.tables)}: ${misfit.fault}`],
  );
}

/** The tables with a fault, and that of the first. */
function misfitOf(
  covered: readonly Covered[],
  faultIn: (fields: readonly Field[]) => string | undefined,
): { readonly tables: readonly Covered[]; readonly fault: string } | undefined {
  const found = covered.flatMap((table) => {
    const fault = faultIn(table.fields);
    return fault === undefined ? [] : [{ table, fault }];
  });
  if (found.length === 0) return undefined;
  return { tables: found.map(({ table }) => table), fault: found[0]!.fault };
}

function maskFault(column: string, mask: Mask, fields: readonly Field[]): string | undefined {
  const field = fields.find(({ name }) => name === column);
  if (field === undefined || maskFits(mask, field.type)) return undefined;
  return `the mask ${formatMask(mask)} has no value for ${column}, which is ${sqlTypeName(field.type)}`;
}

function filterFault(fields: readonly Field[], sql: string, what: string): string | undefined {
  try {
    bindPredicate(parseExpression(sql), { fields });
    return undefined;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return error.kind === 'unknown-column'
      ? undefined
      : `${what} cannot be applied: ${error.message}`;
  }
}
