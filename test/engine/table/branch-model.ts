/* The branches of a table in the plainest way: each version is a list of numbers. */

/** A step; the numbers choose among what is there, whatever there is. */
export type Step =
  | { readonly kind: 'insert' | 'overwrite'; readonly on: number; readonly values: number[] }
  | { readonly kind: 'delete'; readonly on: number; readonly divisor: number }
  | { readonly kind: 'restore' | 'branch' | 'tag'; readonly on: number; readonly version: number }
  | { readonly kind: 'unbranch'; readonly on: number }
  | { readonly kind: 'untag'; readonly tag: number }
  | { readonly kind: 'forget'; readonly on: number; readonly first: number; readonly last: number };

type Rows = readonly number[];

/** A line of versions. */
export class ModelBranch {
  readonly name: string;
  readonly parent: ModelBranch | null;
  /** The last version that it has of its parent. */
  readonly at: number;
  readonly made = new Map<number, Rows>();
  head: number;
  headRows: Rows;

  constructor(name: string, parent: ModelBranch | null, at: number, rows: Rows) {
    this.name = name;
    this.parent = parent;
    this.at = at;
    this.head = at;
    this.headRows = rows;
  }

  commit(rows: Rows): void {
    this.made.set(++this.head, rows);
    this.headRows = rows;
  }

  /** The line on which one of its versions was made. */
  owner(version: number): ModelBranch {
    return version <= this.at && this.parent !== null ? this.parent.owner(version) : this;
  }

  rows(version: number): Rows | undefined {
    return this.owner(version).made.get(version);
  }

  /** The versions that it has, ascending. */
  versions(): readonly number[] {
    const all = Array.from({ length: this.head }, (_, index) => index + 1);
    return all.filter((version) => this.rows(version) !== undefined);
  }
}

/** What a tag names. */
interface ModelTag {
  readonly branch: ModelBranch;
  readonly version: number;
}

export class ModelTable {
  readonly branches: ModelBranch[] = [new ModelBranch('main', null, 0, [])];
  readonly tags = new Map<string, ModelTag>();

  /** Whether a branch can go. */
  isFree(branch: ModelBranch): boolean {
    const isParent = this.branches.some(({ parent }) => parent === branch);
    const hasTag = [...this.tags.values()].some((tag) => tag.branch === branch);
    return branch.parent !== null && !isParent && !hasTag;
  }

  /** Removes versions made on a branch, but those that must stay; answers how many. */
  forget(branch: ModelBranch, first: number, last: number): number {
    const places = [
      { branch, version: branch.head },
      ...this.tags.values(),
      ...this.branches.flatMap((one) =>
        one.parent === null ? [] : [{ branch: one.parent, version: one.at }],
      ),
    ];
    const kept = new Set(
      places
        .filter((place) => place.branch.owner(place.version) === branch)
        .map(({ version }) => version),
    );
    const gone = [...branch.made.keys()].filter(
      (version) => version >= first && version < last && !kept.has(version),
    );
    for (const version of gone) branch.made.delete(version);
    return gone.length;
  }
}
