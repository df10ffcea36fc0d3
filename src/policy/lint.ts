import type { Principal } from '../protocol/principal.ts';
import { inertLines } from './lines/inert.ts';
import type { FolderPolicy, LoadedPolicy } from './load.ts';
import type { PolicyFinding } from './lines/policy-error.ts';
import { POLICY_FILE, ruleName, type PolicyLine, type RoleLine } from './lines/policy-line.ts';
import {
  checkFindings,
  columnFindings,
  lockoutFindings,
  shallowFindings,
  type KnownObjects,
} from './reach-lint.ts';
import { closedTableFindings, restrictionFindings, unreachedFindings } from './restriction-lint.ts';
import { RoleGraph } from './lines/role-graph.ts';
import { strangerFindings, type Callers } from './strangers.ts';
import { EVERYONE } from './lines/pattern.ts';
import { buildTries, coveringEntries, type TrieNode } from './decide/trie.ts';
import { readdir } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Issuer } from './settings/issuer.ts';
import { nearestName } from './nearest.ts';
import { readFileNames } from './policy-folder.ts';
import { SHADOW_FOLDER } from './shadow-policy.ts';

/** Files that look as if they were read: those of the kinds that policy files are of. */
const POLICY_LIKE = /\.(ya?ml|csv|conf|toml|json)$/i;

/** A file or folder in a policy folder. */
interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Files of a policy folder that look like policy files, and that nothing reads. @param folder An absolute path. */
function unreadFiles(
  folder: string,
  entries: readonly FolderEntry[],
  issuers: readonly Issuer[],
): readonly PolicyFinding[] {
  const listed = new Set([...readFileNames, ...keySetsIn(folder, issuers)]);
  return entries.flatMap((entry) => {
    const { name } = entry;
    if (entry.isFolder) return folderFinding(name);
    if (listed.has(name)) return [];
    const meant = nearestFile(name);
    if (meant === undefined && !POLICY_LIKE.test(name)) return [];
    const hint = meant === undefined ? '' : `: did you mean ${meant}?`;
    return [{ file: name, text: `nothing reads this file${hint}` }];
  });
}

function keySetsIn(folder: string, issuers: readonly Issuer[]): readonly string[] {
  return issuers.flatMap(({ keys }) =>
    keys.kind === 'file' && dirname(resolve(keys.path)) === folder ? [basename(keys.path)] : [],
  );
}

function folderFinding(name: string): readonly PolicyFinding[] {
  if (name === SHADOW_FOLDER || nearestName(name, [SHADOW_FOLDER]) === undefined) return [];
  return [{ file: name, text: `nothing reads this folder: did you mean ${SHADOW_FOLDER}?` }];
}

/** The file that is read whose name comes nearest, with or without its ending. */
function nearestFile(name: string): string | undefined {
  const stem = stemOf(name);
  const stems = new Map(readFileNames.toReversed().map((file) => [stemOf(file), file]));
  const near = stems.has(stem) ? stem : nearestName(stem, stems.keys());
  return near === undefined ? undefined : stems.get(near);
}

/** `policy.csv` and `policy.sha256` share their stem: the stem means the first. */
function stemOf(file: string): string {
  const at = file.indexOf('.', 1);
  return at === -1 ? file.toLowerCase() : file.slice(0, at).toLowerCase();
}

/** Faults of a policy that can be loaded, and warnings about it. */
interface Lint {
  /** Lines and restrictions that can never decide anything. */
  readonly findings: readonly PolicyFinding[];
  /** Lines that others make superfluous, and dangers of the whole. */
  readonly warnings: readonly PolicyFinding[];
}

/** Number of steps of a role chain that casbin follows by default. */
const CASBIN_STEPS = 10;

/** The administrator, who should have all rights. */
const administrator: Principal = {
  subject: 'user:admin',
  groups: [],
  roles: ['role:admin'],
  credential: { kind: 'key', id: 'administrator' },
};

/** Checks a policy as a whole. Under a foreign model, only its roles and the administrator are checked. */
export function lintPolicy(policy: LoadedPolicy): Lint {
  const { policies, roles } = policy;
  const graph = new RoleGraph(roles);
  const warnings = [
    ...lockout(policy),
    ...lockoutFindings(policy),
    ...shadowed(policies, graph),
    ...emptyRoles(policy, graph),
    ...deepChains(roles, graph),
  ];
  const findings = [
    ...inertLines(policies),
    ...checkFindings(policy),
    ...restrictionFindings(policy),
  ];
  return { findings, warnings: warnings.sort(byLine) };
}

/** The objects that a folder is compared with. */
interface PolicySurroundings {
  readonly callers: Callers;
  /** Existing objects; undefined if unknown. */
  readonly objects: KnownObjects | undefined;
  /** Names of files that a proposal adds to the folder. */
  readonly added?: readonly string[];
}

async function entriesOf(
  folder: string,
  added: readonly string[],
): Promise<readonly FolderEntry[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
  const names = new Set(found.map(({ name }) => name));
  return [
    ...found,
    ...added.filter((name) => !names.has(name)).map((name) => ({ name, isFolder: false })),
  ];
}

/** Reads a policy and its folder as a whole, beside the callers and objects that there are. */
export async function lintFolder(
  folder: string,
  policy: FolderPolicy,
  { callers, objects, added = [] }: PolicySurroundings,
): Promise<Lint> {
  const { findings, warnings } = lintPolicy(policy);
  const { issuers } = policy.snapshot;
  const more = [
    ...strangerFindings(policy, callers),
    ...shallowFindings(policy, objects),
    ...unreachedFindings(policy),
    ...(objects === undefined ? [] : await missingColumns(policy, objects)),
    ...unreadFiles(folder, await entriesOf(folder, added), issuers),
  ];
  return { findings, warnings: [...warnings, ...more].sort(byPlace) };
}

async function missingColumns(
  { snapshot: { commits, restrictions } }: FolderPolicy,
  objects: KnownObjects,
): Promise<readonly PolicyFinding[]> {
  return [
    ...(await columnFindings(commits.rules, objects)),
    ...(await closedTableFindings(restrictions.restrictions, objects)),
  ];
}

function byPlace(one: PolicyFinding, other: PolicyFinding): number {
  const rank = ({ file }: PolicyFinding): number => (file === POLICY_FILE ? 0 : 1);
  if (rank(one) !== rank(other)) return rank(one) - rank(other);
  return one.file === other.file ? byLine(one, other) : one.file < other.file ? -1 : 1;
}

function byLine(one: PolicyFinding, other: PolicyFinding): number {
  return (one.line ?? 0) - (other.line ?? 0);
}

function lockout({ snapshot }: LoadedPolicy): readonly PolicyFinding[] {
  if (snapshot.decide(administrator, 'manage', []).allowed) return [];
  const text = 'role:admin may not manage everything: nobody may be able to repair what goes wrong';
  return [{ file: POLICY_FILE, text }];
}

/** Lines that another line makes superfluous. */
function shadowed(policies: readonly PolicyLine[], graph: RoleGraph): readonly PolicyFinding[] {
  const tries = buildTries(policies);
  const roots = new Map<string, readonly TrieNode[]>();
  return policies.flatMap((line) => {
    let own = roots.get(line.subject);
    if (own === undefined) roots.set(line.subject, (own = rootsOf(line.subject, tries, graph)));
    const text = shadowText(line, own);
    return text === undefined ? [] : [{ file: POLICY_FILE, line: line.line, text }];
  });
}

/** Trees of the subject and of all its roles: their lines apply wherever the subject's lines apply. */
function rootsOf(
  subject: string,
  tries: ReadonlyMap<string, TrieNode>,
  graph: RoleGraph,
): readonly TrieNode[] {
  const names = graph.closure([subject, EVERYONE]);
  return [...names].map((name) => tries.get(name)).filter((trie) => trie !== undefined);
}

function shadowText(line: PolicyLine, roots: readonly TrieNode[]): string | undefined {
  const covering: PolicyLine[] = [];
  for (const root of roots) {
    for (const { lines, conditional = [] } of coveringEntries(root, line.pattern)) {
      for (const other of [...lines, ...conditional]) {
        if (other !== line && covers(other, line)) covering.push(other);
      }
    }
  }
  const denying = covering.find(({ effect }) => effect === 'deny' && effect !== line.effect);
  if (denying !== undefined) return `it allows nothing: ${ruleName(denying.line)} denies all of it`;
  const same = covering.find((other) => other.effect === line.effect && isFirst(other, line));
  if (same === undefined) return undefined;
  const verb = line.effect === 'allow' ? 'allows' : 'denies';
  return `it adds nothing: ${ruleName(same.line)} ${verb} all of it`;
}

/** Whether one line's subject and pattern include the other's. */
function covers(other: PolicyLine, line: PolicyLine): boolean {
  if (!line.rights.within(other.rights)) return false;
  return other.condition === undefined || other.condition === line.condition;
}

/** Of two equal lines the first counts. */
function isFirst(other: PolicyLine, line: PolicyLine): boolean {
  const alike =
    other.subject === line.subject &&
    line.rights === other.rights &&
    line.condition === other.condition &&
    JSON.stringify(line.pattern) === JSON.stringify(other.pattern);
  return !alike || other.line < line.line;
}

/** Memberships in a role that no line names. */
function emptyRoles(
  { policies, roles, snapshot }: LoadedPolicy,
  graph: RoleGraph,
): readonly PolicyFinding[] {
  if (snapshot.slow) return [];
  const { limits, commits, restrictions } = snapshot;
  const subjects = new Set([
    ...policies.map(({ subject }) => subject),
    ...limits.limits.flatMap((limit) => [...(limit.subjects ?? [])]),
    ...commits.rules.flatMap(({ except }) => except),
    ...restrictions.restrictions.flatMap(({ subjects, except }) => [
      ...(subjects ?? []),
      ...except,
    ]),
  ]);
  const empty = new Map<string, boolean>();
  return roles.flatMap(({ line, role }) => {
    let isEmpty = empty.get(role);
    if (isEmpty === undefined) {
      isEmpty = ![...graph.closure([role])].some((name) => subjects.has(name));
      empty.set(role, isEmpty);
    }
    if (!isEmpty) return [];
    return [{ file: POLICY_FILE, line, text: `it gives nothing: no line is about ${role}` }];
  });
}

function deepChains(roles: readonly RoleLine[], graph: RoleGraph): readonly PolicyFinding[] {
  const { start, steps } = graph.longest();
  if (steps <= CASBIN_STEPS) return [];
  const line = roles.find(({ member }) => member === start)?.line;
  const text = `the roles of ${start} are a chain of ${steps} steps: casbin by itself would follow ${CASBIN_STEPS} of them`;
  return [{ file: POLICY_FILE, text, ...(line === undefined ? {} : { line }) }];
}
