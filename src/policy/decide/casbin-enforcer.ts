import { newEnforcer, type Adapter, type Enforcer, type Model } from 'casbin';
import { noCircumstances, type Circumstances } from '../conditions/circumstances.ts';
import type { CsvLine } from '../lines/csv.ts';
import type { PolicyModel } from '../lines/model.ts';
import { RoleGraph } from '../lines/role-graph.ts';
import type { RoleLine } from '../lines/policy-line.ts';
import {
  EVERYONE,
  decodeSegment,
  parsePattern,
  patternMatches,
  type Pattern,
} from '../lines/pattern.ts';
import { conditionHolds, type Condition, type Effect } from '../conditions/condition.ts';
import { parseCondition } from '../conditions/condition-parser.ts';
import { rightsOfAction } from '../lines/rights.ts';
import { BoundedCache } from '../lines/bounded-cache.ts';

const patterns = new BoundedCache<string, Pattern | undefined>(10_000);

/** `within(r.obj, p.obj)`: whether a canonical path is one of those that a pattern names. */
export function within(object: string, pattern: string): boolean {
  const compiled = patterns.get(pattern, () => {
    const result = parsePattern(pattern);
    return 'fault' in result ? undefined : result.pattern;
  });
  if (compiled === undefined || !object.startsWith('/')) return false;
  const path = object === '/' ? [] : object.slice(1).split('/').map(decodeSegment);
  return patternMatches(compiled, path);
}

/** `covers(p.act, r.act)`: whether a line's action includes the requested one, or all of it. */
export function covers(lineAction: string, action: string): boolean {
  const given = rightsOfAction(lineAction);
  const rights = rightsOfAction(action);
  if (given === undefined || rights === undefined) return false;
  return rights.every((right) => given.includes(right));
}

/** A condition with the effect of its line before it, as `holds` is given it. */
function taggedCondition(effect: string, text: string): string {
  return `${effect} ${text}`;
}

const conditions = new BoundedCache<string, Condition | 'none' | 'bad'>(10_000);

/** `holds(p.cond)`: whether the condition of a line, after its effect, holds in the circumstances of the moment. */
function holdsUnder(circumstances: () => Circumstances): (tagged: string) => boolean {
  return (tagged) => {
    const at = tagged.indexOf(' ');
    const effect: Effect = tagged.slice(0, at) === 'deny' ? 'deny' : 'allow';
    const condition = conditions.get(tagged.slice(at + 1), () => conditionOf(tagged.slice(at + 1)));
    if (typeof condition === 'string') return condition === 'none';
    return conditionHolds(condition, effect, circumstances());
  };
}

function conditionOf(text: string): Condition | 'none' | 'bad' {
  const result = parseCondition(text);
  if ('fault' in result) return 'bad';
  return result.condition ?? 'none';
}

/** Casbin with a policy in it. */
export interface LoadedEnforcer {
  readonly enforcer: Enforcer;
  /** The number of the line that a policy of casbin's came from. */
  readonly lineOf: (values: readonly string[]) => number | undefined;
  /** Sets the roles that `g` resolves for the subject, and the circumstances of conditions. */
  readonly enforce: (
    subject: string,
    names: ReadonlySet<string>,
    circumstances: Circumstances,
  ) => void;
}

/**
 * Loads a model and its lines into casbin, with `within`, `covers` and `holds`
 * registered and roles of any depth.
 * @throws casbin's error when it refuses them.
 */
export async function loadEnforcer(
  model: PolicyModel,
  lines: readonly CsvLine[],
  roles: readonly RoleLine[],
): Promise<LoadedEnforcer> {
  const origins = new Map<readonly string[], number>();
  let circumstances = noCircumstances;
  const manager = new ClosureRoles(roles);
  const enforcer = await newEnforcer(model.create());
  enforcer.setAdapter(new LineAdapter(model, lines, origins));
  if (model.roleColumns === 2) enforcer.setRoleManager(manager);
  await enforcer.addFunction('within', within);
  await enforcer.addFunction('covers', covers);
  await enforcer.addFunction(
    'holds',
    holdsUnder(() => circumstances),
  );
  await enforcer.loadPolicy();
  return {
    enforcer,
    lineOf: (values) => origins.get(values),
    enforce: (subject, names, current) => {
      circumstances = current;
      manager.enforce(subject, names);
    },
  };
}

/**
 * Hands casbin the lines that were read, and keeps which is which. The matcher tells `holds`
 * nothing but the condition, so the effect, on which a missing value depends, goes before it.
 */
class LineAdapter implements Adapter {
  readonly #condition: number;
  readonly #effect: number;
  readonly #lines: readonly CsvLine[];
  readonly #origins: Map<readonly string[], number>;

  constructor(
    { columns }: PolicyModel,
    lines: readonly CsvLine[],
    origins: Map<readonly string[], number>,
  ) {
    this.#condition = columns.indexOf('cond');
    this.#effect = columns.indexOf('eft');
    this.#lines = lines;
    this.#origins = origins;
  }

  loadPolicy(model: Model): Promise<void> {
    for (const { line, cells } of this.#lines) {
      const [kind = '', ...values] = cells;
      if (kind === 'p' && this.#condition >= 0) {
        const effect = values[this.#effect] ?? 'allow';
        values[this.#condition] = taggedCondition(effect, values[this.#condition] ?? '');
      }
      model.model.get(kind)?.get(kind)?.policy.push(values);
      this.#origins.set(values, line);
    }
    return Promise.resolve();
  }

  savePolicy(): Promise<boolean> {
    return readOnly();
  }

  addPolicy(): Promise<void> {
    return readOnly();
  }

  removePolicy(): Promise<void> {
    return readOnly();
  }

  removeFilteredPolicy(): Promise<void> {
    return readOnly();
  }
}

function readOnly(): Promise<never> {
  return Promise.reject(new Error('a policy is changed in its files'));
}

/** Casbin's view of the roles: to any depth, and for the subject in question all names of its principal. */
class ClosureRoles {
  readonly #graph: RoleGraph;
  #subject = '';
  #names: ReadonlySet<string> = new Set();

  constructor(roles: readonly RoleLine[]) {
    this.#graph = new RoleGraph(roles);
  }

  enforce(subject: string, names: ReadonlySet<string>): void {
    this.#subject = subject;
    this.#names = names;
  }

  syncedHasLink(member: string, role: string): boolean {
    if (member === role) return true;
    const names = member === this.#subject ? this.#names : this.#graph.closure([member, EVERYONE]);
    return names.has(role);
  }

  hasLink(member: string, role: string): Promise<boolean> {
    return Promise.resolve(this.syncedHasLink(member, role));
  }

  getRoles(name: string): Promise<string[]> {
    return Promise.resolve([...this.#graph.closure([name])].filter((role) => role !== name));
  }

  getUsers(name: string): Promise<string[]> {
    const members = [...this.#graph.members()];
    return Promise.resolve(members.filter((member) => this.#graph.closure([member]).has(name)));
  }

  // The lines are known from the start, so casbin's own building of links adds nothing.
  clear(): Promise<void> {
    return Promise.resolve();
  }

  addLink(): Promise<void> {
    return Promise.resolve();
  }

  deleteLink(): Promise<void> {
    return readOnly();
  }

  printRoles(): Promise<void> {
    return Promise.resolve();
  }

  getDomains(): Promise<string[]> {
    return Promise.resolve([]);
  }

  getAllDomains(): Promise<string[]> {
    return Promise.resolve([]);
  }
}
