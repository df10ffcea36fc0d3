import type { NameNumbers, Names } from './name-table.ts';
import type { RoleLine } from './policy-line.ts';

/** Memberships, to any depth. */
export interface Roles {
  /** The names themselves and everything that can be reached from them. */
  closure(names: Iterable<string>): ReadonlySet<string>;
}

/** Memberships of nobody. */
export const noRoles: Roles = { closure: (names) => new Set(names) };

/** Memberships as arrays, by the numbers of names. */
export interface RoleArrays {
  /** Index in `roles` of the first role of each name; one entry more than there are names. */
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly roles: Uint32Array<ArrayBuffer>;
}

/** Numbers the names of memberships. The result makes the arrays when all other names are numbered too. */
export function numberRoles(lines: readonly RoleLine[], names: NameNumbers): () => RoleArrays {
  const pairs = new Uint32Array(2 * lines.length);
  for (const [at, { member, role }] of lines.entries()) {
    pairs[2 * at] = names.of(member);
    pairs[2 * at + 1] = names.of(role);
  }
  return () => arraysOf(pairs, names.size);
}

/** Sorts pairs of member and role by member. */
function arraysOf(pairs: Uint32Array, names: number): RoleArrays {
  const starts = new Uint32Array(names + 1);
  for (let at = 0; at < pairs.length; at += 2) starts[pairs[at]! + 1]! += 1;
  for (let name = 0; name < names; name++) starts[name + 1]! += starts[name]!;
  const next = starts.slice();
  const roles = new Uint32Array(pairs.length / 2);
  for (let at = 0; at < pairs.length; at += 2) roles[next[pairs[at]!]!++] = pairs[at + 1]!;
  return { starts, roles };
}

/** Memberships of a policy that was compiled on another thread. */
export class PackedRoles implements Roles {
  readonly #names: Names;
  readonly #arrays: RoleArrays;

  constructor(names: Names, arrays: RoleArrays) {
    this.#names = names;
    this.#arrays = arrays;
  }

  closure(names: Iterable<string>): ReadonlySet<string> {
    const { starts, roles } = this.#arrays;
    // A set is iterated in order of insertion, including entries that are added during the iteration.
    const reached = new Set(names);
    for (const name of reached) {
      const number = this.#names.find(name);
      if (number === undefined) continue;
      for (let at = starts[number]!; at < starts[number + 1]!; at++) {
        reached.add(this.#names.name(roles[at]!));
      }
    }
    return reached;
  }
}
