import type { Roles } from './packed-roles.ts';
import type { RoleLine } from './policy-line.ts';

/** Memberships of roles and groups, to any depth. */
export class RoleGraph implements Roles {
  readonly #roles = new Map<string, Set<string>>();

  constructor(lines: readonly RoleLine[]) {
    for (const { member, role } of lines) {
      const roles = this.#roles.get(member);
      if (roles === undefined) this.#roles.set(member, new Set([role]));
      else roles.add(role);
    }
  }

  /** The names themselves and everything that can be reached from them. */
  closure(names: Iterable<string>): ReadonlySet<string> {
    // A set is iterated in order of insertion, including entries that are added during the iteration.
    const reached = new Set(names);
    for (const name of reached) {
      for (const role of this.#roles.get(name) ?? []) reached.add(role);
    }
    return reached;
  }

  /** The names that are members of something. */
  members(): Iterable<string> {
    return this.#roles.keys();
  }

  /** Start of the longest chain of roles, and its length; the roles form no cycle. */
  longest(): { readonly start: string; readonly steps: number } {
    const steps = new Map<string, number>();
    let longest = { start: '', steps: 0 };
    for (const member of this.#roles.keys()) {
      const length = this.#measure(member, steps);
      if (length > longest.steps) longest = { start: member, steps: length };
    }
    return longest;
  }

  /** Depth first, with an explicit stack; earlier results are reused. */
  #measure(start: string, steps: Map<string, number>): number {
    const pending = [start];
    while (pending.length > 0) {
      const name = pending.at(-1)!;
      const roles = [...(this.#roles.get(name) ?? [])];
      const unknown = steps.has(name) ? [] : roles.filter((role) => !steps.has(role));
      if (unknown.length > 0) {
        pending.push(...unknown);
        continue;
      }
      steps.set(
        name,
        roles.reduce((most, role) => Math.max(most, steps.get(role)! + 1), 0),
      );
      pending.pop();
    }
    return steps.get(start)!;
  }

  /** The path of a cycle, its first name repeated at its end; undefined if there is none. */
  cycle(): readonly string[] | undefined {
    const finished = new Set<string>();
    for (const start of this.#roles.keys()) {
      const found = this.#cycleFrom(start, finished);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Depth first, with its own stack: chains may be longer than the call stack. */
  #cycleFrom(start: string, finished: Set<string>): readonly string[] | undefined {
    const path: string[] = [start];
    const onPath = new Set(path);
    const pending: string[][] = [[...(this.#roles.get(start) ?? [])]];
    while (pending.length > 0) {
      const next = pending.at(-1)!.pop();
      if (next === undefined) {
        pending.pop();
        const left = path.pop()!;
        onPath.delete(left);
        finished.add(left);
      } else if (onPath.has(next)) {
        return [...path.slice(path.indexOf(next)), next];
      } else if (!finished.has(next)) {
        path.push(next);
        onPath.add(next);
        pending.push([...(this.#roles.get(next) ?? [])]);
      }
    }
    return undefined;
  }
}
