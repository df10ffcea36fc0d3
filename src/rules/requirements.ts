import { canonicalPath } from '../protocol/identifier.ts';
import type { CommitAction, CommitFacts } from './commit-facts.ts';
import type { CommitRule, RequirementName, Requirements } from './commit-rule.ts';
import { isFrozen } from './zone-clock.ts';
import { columnsFault, schemaJudges } from './schema-requirement.ts';
import { touchedFragments } from './table-change.ts';

/** Describes a violation, as the end of a sentence; undefined if there is none. */
type Judge<Name extends RequirementName> = (
  demand: NonNullable<Requirements[Name]>,
  facts: CommitFacts,
  rule: CommitRule,
) => string | undefined;

type Judges = { readonly [Name in RequirementName]: Judge<Name> };

const judges: Judges = {
  context: (keys, { context }) => {
    const missing = context === null ? undefined : keys.find((key) => !context.has(key));
    return missing === undefined
      ? undefined
      : `the request's context has no ${JSON.stringify(missing)}`;
  },
  freeze: (windows, { now }) => {
    const found = windows.find((window) => isFrozen(window, now));
    return found === undefined
      ? undefined
      : `it is ${new Date(now).toISOString()}, and nothing is committed ${found.text}`;
  },
  append_only: (_, facts) => appendFault(facts),
  no_drop: (_, facts, rule) => dropFault(facts, rule),
  protected_tags: (names, { action, tag = '' }) =>
    (action === 'update_tag' || action === 'delete_tag') && names.includes(tag)
      ? `the tag ${JSON.stringify(tag)} is protected`
      : undefined,
  protected_branches: (names, { action, branch }) =>
    (action === 'delete_branch' || action === 'restore') && names.includes(branch)
      ? `the branch ${JSON.stringify(branch)} is protected`
      : undefined,
  locations: (folders, facts) => locationFault(folders, facts),
  max_rows: (most, { change }) =>
    change !== null && change.rowsAdded > most
      ? `it adds ${rows(change.rowsAdded)}, and at most ${most} may be added`
      : undefined,
  max_bytes: (most, { change }) =>
    change !== null && change.bytesAdded > most
      ? `it adds ${change.bytesAdded} bytes, and at most ${most} may be added`
      : undefined,
  max_removed_share: (most, { change, removal = change }) => {
    if (removal === null || removal.rowsRemoved === 0n) return undefined;
    const { rowsRemoved, rowsBefore } = removal;
    return Number(rowsRemoved) > most * Number(rowsBefore)
      ? `it removes ${rowsRemoved} of ${rowsBefore} rows, and at most a share of ${most} may be removed`
      : undefined;
  },
  schema: (kind, { change }) => (change === null ? undefined : schemaJudges[kind](change)),
  columns: (required, { change }) =>
    change === null ? undefined : columnsFault(change.after.columns, required),
  check: (text, facts) => unread(facts, `check ${JSON.stringify(text)}`),
  unique: (columns, facts) => unread(facts, `unique ${JSON.stringify(columns)}`),
};

/** The keys that a rule may demand, in the order in which they are judged. */
export const requirementNames = Object.keys(judges) as readonly RequirementName[];

/** The violations that are found without reading rows; undefined if there are none. */
export function brokenBy(rule: CommitRule, facts: CommitFacts): string | undefined {
  for (const name of requirementNames) {
    const fault = judged(name, rule, facts);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function judged(name: RequirementName, rule: CommitRule, facts: CommitFacts): string | undefined {
  const { [name]: demand } = rule.require;
  if (demand === undefined) return undefined;
  if (facts.unknown !== undefined && comparing.has(name)) {
    return `${name} cannot be judged, since ${facts.unknown}`;
  }
  return judgeOf(name)(demand, facts, rule);
}

/** Keys that compare a version with its predecessor. */
const comparing: ReadonlySet<RequirementName> = new Set<RequirementName>([
  'append_only',
  'schema',
  'columns',
  'check',
  'unique',
  'max_rows',
  'max_bytes',
  'max_removed_share',
]);

/** The judge of each key; it receives the key's demand. */
function judgeOf(name: RequirementName): Judge<RequirementName> {
  return judges[name] as Judge<RequirementName>;
}

/** Actions that put other rows, or none, in the place of those that are there. */
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
};

function dropFault({ action, target }: CommitFacts, rule: CommitRule): string | undefined {
  const what = leaving[action];
  if (what !== undefined) return `the table may not be ${what}`;
  if (action !== 'rename' || target === undefined || rule.covers(target)) return undefined;
  return `the table may not be renamed to ${canonicalPath(target)}, which the rule does not cover`;
}

/** What takes a table out of the catalog, or says something of its versions, is possible wherever it lies. */
const placeless: ReadonlySet<CommitAction> = new Set<CommitAction>([
  'drop',
  'deregister',
  'create_tag',
  'update_tag',
  'delete_tag',
  'create_branch',
  'delete_branch',
  'delete_versions',
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
