import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operations/operation.ts';
import { isOperationName, operationsOf } from '../protocol/operations/operations.ts';
import type { Principal } from '../protocol/principal.ts';
import type { LoadedPolicy } from './load.ts';
import { ANY, formatPattern, patternMatches, type Pattern } from './lines/pattern.ts';
import type { PolicyLine } from './lines/policy-line.ts';
import { accessGroups } from './lines/rights.ts';
import { RoleGraph } from './lines/role-graph.ts';
import { namesInLines } from './strangers.ts';

/** A caller of a comparison: a name of a policy, or a key with its own roles. */
export interface ComparedCaller {
  /** As it is printed: `user:alice`, or `user:alice (key ID)`. */
  readonly name: string;
  readonly principal: Principal;
}

/** What one caller gains or loses on one object. */
export interface AccessChange {
  readonly kind: 'gains' | 'loses';
  readonly caller: string;
  /** A pattern of a policy, for an object that no other line names, or the path of an object. */
  readonly object: string;
  /** Access groups, and operations that no listed group contains. */
  readonly actions: readonly Action[];
  /** The line that decided the first action before, and the line that decides it now. */
  readonly before: string | null;
  readonly after: string | null;
}

type Compared = Pick<LoadedPolicy, 'policies' | 'roles' | 'snapshot'>;

/** An object that stands for a pattern, or an existing one. */
interface Place {
  readonly label: string;
  readonly path: ObjectPath;
  readonly pattern: Pattern | undefined;
}

/** A name that no policy uses, in the place of any segment. */
export const SOME_NAME = 'any-other-name';

/**
 * Compares two policies: on an object of each of their patterns, and on existing objects. Without
 * circumstances, so conditions of allow lines fail and those of deny lines hold.
 * @param progress Called with the number of compared callers.
 */
export function accessChanges(
  before: Compared,
  after: Compared,
  callers: readonly ComparedCaller[],
  objects: readonly ObjectPath[],
  progress: (callers: number) => void = () => undefined,
): readonly AccessChange[] {
  const places = patternPlaces([...before.policies, ...after.policies], objects);
  const actions = actionsOf([...before.policies, ...after.policies]);
  const touched = touchedNames(before, after);
  const graphs = [before, after].map(({ roles }) => new RoleGraph(roles));
  const isTouched = ({ principal }: ComparedCaller): boolean =>
    graphs.some((graph) =>
      [...graph.closure(namesOf(principal))].some((name) => touched.has(name)),
    );
  return callers.flatMap((caller, at) => {
    progress(at + 1);
    if (!isTouched(caller)) return [];
    const changes = places.flatMap((place) => changesAt(before, after, caller, place, actions));
    return withoutRepeats(changes);
  });
}

function namesOf({ subject, groups, roles }: Principal): readonly string[] {
  return [subject, ...groups, ...roles, '*'];
}

/** The names of lines that only one of the policies has. */
function touchedNames(before: Compared, after: Compared): ReadonlySet<string> {
  const [old, next] = [before, after].map(
    ({ policies, roles }) =>
      new Map([
        ...policies.map((line): [string, string] => [textOf(line), line.subject]),
        ...roles.map(({ member, role }): [string, string] => [`g ${member} ${role}`, member]),
      ]),
  ) as [Map<string, string>, Map<string, string>];
  const only = (one: Map<string, string>, other: Map<string, string>) =>
    [...one].flatMap(([text, name]) => (other.has(text) ? [] : [name]));
  return new Set([...only(old, next), ...only(next, old)]);
}

function textOf({ subject, pattern, action, effect, condition }: PolicyLine): string {
  return JSON.stringify([subject, formatPattern(pattern), action, effect, condition?.text ?? '']);
}

/** An object for each pattern of some lines, and existing objects that no pattern spells out. */
export function patternPlaces(
  lines: readonly PolicyLine[],
  objects: readonly ObjectPath[],
): readonly Place[] {
  const places = new Map<string, Place>();
  for (const { pattern } of lines) {
    const label = formatPattern(pattern);
    const segments = pattern.segments.map((segment) => (segment === ANY ? SOME_NAME : segment));
    const path = pattern.below ? [...segments, SOME_NAME] : segments;
    places.set(label, { label, path, pattern });
  }
  for (const path of objects) {
    const label = canonicalPath(path);
    if (!places.has(label)) places.set(label, { label, path, pattern: undefined });
  }
  return [...places.values()];
}

/** All access groups, and the operations that lines name. */
export function actionsOf(lines: readonly PolicyLine[]): readonly Action[] {
  const named = lines.flatMap(({ action }) => (isOperationName(action) ? [action] : []));
  return [...accessGroups, ...new Set(named)];
}

/** The callers of a comparison: the names of both policies, and keys that differ from their owners. */
export function comparedCallers(
  before: LoadedPolicy,
  after: LoadedPolicy,
  keys: readonly Principal[],
): readonly ComparedCaller[] {
  const names = new Set([...namesInLines(before), ...namesInLines(after)]);
  return [
    ...[...names].toSorted().map((name) => ({ name, principal: principalNamed(name) })),
    ...keys.map((principal) => ({ name: keyName(principal), principal })),
  ];
}

function principalNamed(subject: string): Principal {
  return { subject, groups: [], roles: [], credential: { kind: 'key', id: '' } };
}

function keyName({ subject, credential }: Principal): string {
  return credential.kind === 'key' ? `${subject} (key ${credential.id})` : subject;
}

/** What a comparison leaves out. */
export function comparisonNotes(...policies: readonly LoadedPolicy[]): readonly string[] {
  const isConditional = policies.some((one) => one.policies.some((line) => line.condition));
  const isForeign = policies.some(({ packed }) => packed === null);
  return [
    ...(isConditional
      ? ['conditions were not met: those of allow lines fail, those of deny lines hold']
      : []),
    ...(isForeign
      ? ['a policy has another model: only changed lines are compared, not access']
      : []),
  ];
}

interface Placed extends AccessChange {
  readonly place: Place;
}

function changesAt(
  before: Compared,
  after: Compared,
  { name, principal }: ComparedCaller,
  place: Place,
  actions: readonly Action[],
): readonly Placed[] {
  const found = { gains: [] as Placed[], loses: [] as Placed[] };
  for (const action of actions) {
    const old = before.snapshot.decide(principal, action, place.path);
    const next = after.snapshot.decide(principal, action, place.path);
    if (old.allowed === next.allowed) continue;
    const kind = next.allowed ? 'gains' : 'loses';
    const shared = { kind, caller: name, object: place.label, place } as const;
    found[kind].push({ ...shared, actions: [action], before: old.rule, after: next.rule });
  }
  return [found.gains, found.loses].flatMap(joined);
}

/** One change for all actions of an object; operations within a listed group are left out. */
function joined(changes: readonly Placed[]): readonly Placed[] {
  const [first] = changes;
  if (first === undefined) return [];
  const all = changes.flatMap(({ actions }) => actions);
  const inGroups = new Set(
    accessGroups.filter((group) => all.includes(group)).flatMap((group) => operationsOf(group)),
  );
  const actions = all.filter((action) => !isOperationName(action) || !inGroups.has(action));
  return [{ ...first, actions }];
}

/** Leaves out objects that a pattern with the same change contains. */
function withoutRepeats(changes: readonly Placed[]): readonly AccessChange[] {
  const kept = changes.filter(
    (one) =>
      !changes.some(
        (other) =>
          other !== one &&
          other.place.pattern?.below === true &&
          other.kind === one.kind &&
          patternMatches(other.place.pattern, one.place.path) &&
          (one.place.pattern === undefined || other.object < one.object) &&
          one.actions.every((action) => other.actions.includes(action)),
      ),
  );
  return kept.map(({ place: _place, ...change }) => change);
}
