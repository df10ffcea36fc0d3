import { parse } from 'yaml';
import type { CsvLine } from './lines/csv.ts';
import type { PolicyModel } from './lines/model.ts';
import type { PolicyTexts } from './policy-folder.ts';
import type { RoleLine } from './lines/policy-line.ts';
import { RoleGraph } from './lines/role-graph.ts';

/**
 * The restricting parts of a policy: deny lines, the memberships that make deny lines, limits and
 * restrictions apply, and the entries of the YAML files. A file that is written slowly lacks its end,
 * so a policy that has lost some of this may be half of one.
 */
export interface Guards {
  readonly model: string;
  /** Cells of each deny line; of every `p` line under a foreign model, whose effect is its own matter. */
  readonly denies: ReadonlySet<string>;
  /** Each membership, by its cells. */
  readonly memberships: ReadonlyMap<string, string>;
  readonly roles: RoleGraph;
  /** Subjects of deny lines, limits and restrictions. Null when every membership counts. */
  readonly bound: ReadonlySet<string> | null;
  /** The entries of each YAML file that restricts. */
  readonly entries: ReadonlyMap<keyof PolicyTexts, readonly unknown[]>;
}

interface GuardingFile {
  readonly part: keyof PolicyTexts;
  /** The key of the list that the file holds. */
  readonly list: string;
  /** Whether the loss of the whole entry lets more through; otherwise only a loss inside the entry does. */
  readonly whole: boolean;
}

/** Tokens of a removed issuer are refused, but an issuer that has lost its prefixes may name any subject. */
const guardingFiles: readonly GuardingFile[] = [
  { part: 'limits', list: 'limits', whole: true },
  { part: 'commits', list: 'rules', whole: true },
  { part: 'restrictions', list: 'restrictions', whole: true },
  { part: 'issuers', list: 'issuers', whole: false },
];

/** Keys whose loss adds restrictions. */
const WIDENING_KEYS: ReadonlySet<string> = new Set(['except']);

/** Collects the restricting entries of a policy. Its texts are valid. */
export function guardsOf(
  lines: readonly CsvLine[],
  roles: readonly RoleLine[],
  { kind, columns }: PolicyModel,
  texts: PolicyTexts,
): Guards {
  const effect = 1 + columns.indexOf('eft');
  const isForeign = kind === 'foreign';
  const guarding = lines.filter(
    ({ cells }) => cells[0] === 'p' && (isForeign || cells[effect] === 'deny'),
  );
  const entries = new Map(
    guardingFiles.map(({ part, list }) => [part, entriesOf(texts[part], list)]),
  );
  return {
    model: texts.model,
    denies: new Set(guarding.map(({ cells }) => cells.join('\n'))),
    memberships: new Map(roles.map(({ member, role }) => [`${member}\n${role}`, role])),
    roles: new RoleGraph(roles),
    bound: isForeign ? null : new Set([...guarding.map(subjectOf), ...limited(entries)]),
    entries,
  };
}

function subjectOf({ cells }: CsvLine): string {
  return cells[1] ?? '';
}

function limited(entries: Guards['entries']): readonly string[] {
  const bounded = [...(entries.get('limits') ?? []), ...(entries.get('restrictions') ?? [])];
  return bounded.flatMap((entry) => {
    const subjects: unknown = isMapping(entry) ? entry['subjects'] : undefined;
    return Array.isArray(subjects) ? subjects.map(String) : [];
  });
}

function entriesOf(text: string | undefined, list: string): readonly unknown[] {
  const document: unknown = text === undefined ? null : parse(text);
  const entries = isMapping(document) ? document[list] : undefined;
  return Array.isArray(entries) ? entries : [];
}

/** Whether a policy lacks something that kept something out under the one before it. */
export function losesGuard(before: Guards, after: Guards): boolean {
  if (before === after) return false;
  if (before.model !== after.model) return true;
  for (const deny of before.denies) if (!after.denies.has(deny)) return true;
  return losesMembership(before, after) || guardingFiles.some((file) => loses(file, before, after));
}

function losesMembership({ memberships, roles, bound }: Guards, after: Guards): boolean {
  for (const [membership, role] of memberships) {
    if (after.memberships.has(membership)) continue;
    if (bound === null) return true;
    for (const name of roles.closure([role])) if (bound.has(name)) return true;
  }
  return false;
}

function loses({ part, whole }: GuardingFile, before: Guards, after: Guards): boolean {
  const now = after.entries.get(part) ?? [];
  return (before.entries.get(part) ?? []).some((entry) => {
    const same = now.find((other) => isSameEntry(entry, other));
    return same === undefined ? whole : hasLost(entry, same);
  });
}

/** Whether a value lacks something that another had: a key, an item, the end of a text. */
function hasLost(before: unknown, after: unknown): boolean {
  if (before === null || before === undefined) return false;
  if (Array.isArray(before)) {
    const items: readonly unknown[] = Array.isArray(after) ? after : [after];
    return before.some((item) => !items.some((other) => isSameItem(item, other)));
  }
  if (isMapping(before)) return !isMapping(after) || hasLostKey(before, after);
  if (typeof before === 'string' && typeof after === 'string') {
    return before !== after && before.startsWith(after);
  }
  return after === null || after === undefined || (before === true && after !== true);
}

function hasLostKey(before: Mapping, after: Mapping): boolean {
  if (after['mode'] === 'warn' && before['mode'] !== 'warn') return true;
  const keys = Object.keys(before).filter((key) => !WIDENING_KEYS.has(key));
  return keys.some((key) => hasLost(before[key], after[key]));
}

function isSameItem(one: unknown, other: unknown): boolean {
  if (isMapping(one)) return isSameEntry(one, other) && !hasLost(one, other);
  return one === other;
}

/** Entries are the same by their name; without names, if nothing of the one is missing in the other. */
function isSameEntry(one: unknown, other: unknown): boolean {
  if (!isMapping(one) || !isMapping(other)) return one === other;
  return one['name'] === undefined ? !hasLost(one, other) : one['name'] === other['name'];
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
