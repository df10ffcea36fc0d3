import { canonicalPath } from '../protocol/identifier.ts';
import type { CommitAction, CommitFacts } from './commit-facts.ts';
import type { CommitRule, RequirementName, Requirements } from './commit-rule.ts';
import { isFrozen } from './zone-clock.ts';
import { columnsFault, schemaJudges } from './schema-requirement.ts';
import { touchedFragments } from './table-change.ts';

/** One key of `require`. */
interface RequirementRow<Name extends RequirementName> {
  /** Whether it compares a version with its predecessor, and so fails where that is unknown. */
  readonly compares?: true;
  /** Whether route and headers decide it. */
  readonly byRoute?: true;
  /** Describes a violation, as the end of a sentence; undefined if there is none. */
  readonly judge: (
    demand: NonNullable<Requirements[Name]>,
    facts: CommitFacts,
    rule: CommitRule,
  ) => string | undefined;
}

/** The keys that a rule may demand, in the order in which they are judged. */
const table: { readonly [Name in RequirementName]: RequirementRow<Name> } = {
  context: {
    byRoute: true,
    judge: (keys, { context }) => {
      const missing = context === null ? undefined : keys.find((key) => !context.has(key));
      return missing === undefined
        ? undefined
        : `the request's context has no ${JSON.stringify(missing)}`;
    },
  },
  freeze: {
    byRoute: true,
    judge: (windows, { now }) => {
      const found = windows.find((window) => isFrozen(window, now));
      return found === undefined
        ? undefined
        : `it is ${new Date(now).toISOString()}, and nothing is committed ${found.text}`;
    },
  },
  append_only: { compares: true, judge: (_, facts) => appendFault(facts) },
  no_drop: { byRoute: true, judge: (_, facts, rule) => dropFault(facts, rule) },
  keep_versions: {
    judge: (_, { action }) =>
      action === 'delete_versions' || action === 'expire' || action === 'convert'
        ? 'versions of the table may not be removed'
        : undefined,
  },
  protected_tags: {
    judge: (names, { action, tag = '' }) =>
      (action === 'update_tag' || action === 'delete_tag') && names.includes(tag)
        ? `the tag ${JSON.stringify(tag)} is protected`
        : undefined,
  },
  protected_branches: {
    judge: (names, { action, branch }) =>
      (action === 'delete_branch' || action === 'restore') && names.includes(branch)
        ? `the branch ${JSON.stringify(branch)} is protected`
        : undefined,
  },
  locations: { judge: locationFault },
  max_rows: {
    compares: true,
    judge: (most, { change }) =>
      change !== null && change.rowsAdded > most
        ? `it adds ${rows(change.rowsAdded)}, and at most ${most} may be added`
        : undefined,
  },
  max_bytes: {
    compares: true,
    byRoute: true,
    judge: (most, { change }) =>
      change !== null && change.bytesAdded > most
        ? `it adds ${change.bytesAdded} bytes, and at most ${most} may be added`
        : undefined,
  },
  max_removed_share: {
    compares: true,
    judge: (most, { change, removal = change }) => {
      if (removal === null || removal.rowsRemoved === 0n) return undefined;
      const { rowsRemoved, rowsBefore } = removal;
      return Number(rowsRemoved) > most * Number(rowsBefore)
        ? `it removes ${rowsRemoved} of ${rowsBefore} rows, and at most a share of ${most} may be removed`
        : undefined;
    },
  },
  schema: {
    compares: true,
    judge: (kind, { change }) => (change === null ? undefined : schemaJudges[kind](change)),
  },
  columns: {
    compares: true,
    judge: (required, { change }) =>
      change === null ? undefined : columnsFault(change.after.columns, required),
  },
  check: {
    compares: true,
    judge: (text, facts) => unread(facts, `check ${JSON.stringify(text)}`),
  },
  unique: {
    compares: true,
    judge: (columns, facts) => unread(facts, `unique ${JSON.stringify(columns)}`),
  },
};

/** The keys that a rule may demand, in the order in which they are judged. */
export const requirementNames = Object.keys(table) as readonly RequirementName[];

/** The keys that route and headers decide. */
export const routeRequirements: readonly RequirementName[] = requirementNames.filter(
  (name) => table[name].byRoute,
);

/** The first violation that is found without reading rows; undefined if there is none. @param names The keys to judge. */
export function brokenBy(
  rule: CommitRule,
  facts: CommitFacts,
  names: readonly RequirementName[] = requirementNames,
): string | undefined {
  for (const name of names) {
    const fault = judged(name, rule, facts);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function judged(name: RequirementName, rule: CommitRule, facts: CommitFacts): string | undefined {
  const { [name]: demand } = rule.require;
  if (demand === undefined) return undefined;
  const row = table[name] as RequirementRow<RequirementName>;
  if (facts.unknown !== undefined && row.compares) {
    return `${name} cannot be judged, since ${facts.unknown}`;
  }
  return row.judge(demand, facts, rule);
}

/** Actions that replace or remove all rows. */
const replacing: Partial<Record<CommitAction, string>> = {
  overwrite: 'overwritten',
  restore: 'restored to an older version',
  drop: 'dropped',
  deregister: 'deregistered',
  backfill: 'filled',
};

function appendFault({ action, change }: CommitFacts): string | undefined {
  const what = replacing[action];
  if (what !== undefined) return `the table may only be appended to, not ${what}`;
  if (change === null) return undefined;
  const { rowsRemoved, rowsChanged } = change;
  if (rowsRemoved > 0n) return `it removes ${rows(rowsRemoved)} of a table that only gets more`;
  return rowsChanged > 0n
    ? `it changes ${rows(rowsChanged)} of a table that only gets more`
    : undefined;
}

function rows(count: bigint): string {
  return count === 1n ? '1 row' : `${count} rows`;
}

const leaving: Partial<Record<CommitAction, string>> = {
  overwrite: 'overwritten',
  drop: 'dropped',
  deregister: 'deregistered',
  convert: 'converted to another format',
};

function dropFault({ action, target }: CommitFacts, rule: CommitRule): string | undefined {
  const what = leaving[action];
  if (what !== undefined) return `the table may not be ${what}`;
  if (action !== 'rename' || target === undefined || rule.covers(target)) return undefined;
  return `the table may not be renamed to ${canonicalPath(target)}, which the rule does not cover`;
}

/** Actions that are allowed wherever the table lies: they remove it from the catalog, or change references only. */
const placeless: ReadonlySet<CommitAction> = new Set<CommitAction>([
  'drop',
  'deregister',
  'create_tag',
  'update_tag',
  'delete_tag',
  'create_branch',
  'delete_branch',
  'delete_versions',
  'expire',
]);

function locationFault(
  folders: readonly string[],
  { action, location }: CommitFacts,
): string | undefined {
  if (location === undefined || placeless.has(action)) return undefined;
  const lies = folders.some((folder) => location === folder || location.startsWith(`${folder}/`));
  return lies ? undefined : `the table lies in ${location}, where no table may lie`;
}

/** Rows that the catalog does not hold cannot be judged. */
function unread({ keeper, change, action }: CommitFacts, demand: string): string | undefined {
  if (keeper === 'here' || change === null || action === 'compact') return undefined;
  const names = change.after.columns.map(({ name }) => name);
  if (touchedFragments(change, names).size === 0) return undefined;
  return `${demand} cannot be judged of a table whose rows are written by Lance clients`;
}
