/** What a group of rows is: how often it was marked, or not there. */
export type State = number | 'absent';

/** What a writer does to a group of rows. */
export type ChangeKind = 'append' | 'mark' | 'remove';

interface Group {
  /** What it is, as far as is known. */
  state: State;
  /** What it is instead if a change without answer took effect. */
  perhaps: State | undefined;
  /** Whether such a change is in progress. */
  busy: boolean;
}

const after: Readonly<Record<ChangeKind, (state: State) => State>> = {
  append: () => 0,
  mark: (state) => (state === 'absent' ? state : state + 1),
  remove: () => 'absent',
};

/**
 * What the writers of one table know. A group of rows is changed by one writer
 * at a time, and left alone after a change that got no answer until it was seen
 * what became of it. A mark is a count, so a change that takes effect twice shows.
 */
export class Accounts {
  readonly #groups = new Map<number, Group>();
  readonly #versions = new Set<number>();
  readonly #faults: string[] = [];
  #next = 0;
  #acknowledged = 0;
  #unanswered = 0;

  /** How many changes were acknowledged. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** How many changes got no answer that says what became of them. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** The number of a group that is still to be appended. */
  newGroup(): number {
    const id = this.#next++;
    this.#groups.set(id, { state: 'absent', perhaps: undefined, busy: false });
    return id;
  }

  /** Groups that are there and that nobody changes. */
  free(): readonly number[] {
    return [...this.#groups]
      .filter(([, group]) => !group.busy && group.state !== 'absent' && group.perhaps === undefined)
      .map(([id]) => id);
  }

  /** A writer sends a change. */
  begin(id: number, kind: ChangeKind): void {
    const group = this.#group(id);
    group.busy = true;
    group.perhaps = after[kind](group.state);
  }

  /** The change was acknowledged, and made this version, if it made one. */
  acknowledge(id: number, version?: number): void {
    const group = this.#group(id);
    if (group.perhaps !== undefined) group.state = group.perhaps;
    this.#end(group, undefined);
    this.#acknowledged += 1;
    if (version === undefined) return;
    if (this.#versions.has(version)) this.#faults.push(`version ${version} was answered twice`);
    this.#versions.add(version);
  }

  /** The change was refused: it did not take effect. */
  refuse(id: number): void {
    this.#end(this.#group(id), undefined);
  }

  /** No answer came that says what became of the change. */
  leave(id: number): void {
    const group = this.#group(id);
    this.#end(group, group.perhaps);
    this.#unanswered += 1;
  }

  /**
   * Holds what was read against what is known, while no writer is at work.
   * @param found The marks of each group that is there.
   * @param versions The versions of the table.
   * @param final Whether a change without answer can no longer take effect.
   * @returns What is wrong, one sentence each.
   */
  faults(
    found: ReadonlyMap<number, number>,
    versions: readonly number[],
    final: boolean,
  ): readonly string[] {
    const strangers = [...found.keys()].filter((id) => !this.#groups.has(id));
    const gaps = versions.filter((version, index) => version !== index + 1);
    const lost = [...this.#versions].filter((version) => !versions.includes(version));
    return [
      ...this.#faults.splice(0),
      ...strangers.map((id) => `group ${id} is there, and nobody appended it`),
      ...gaps.slice(0, 1).map((version) => `version ${version} is out of order`),
      ...lost.map((version) => `version ${version} was acknowledged and is not there`),
      ...[...this.#groups].flatMap(([id, group]) => settle(id, group, found.get(id), final)),
    ];
  }

  #group(id: number): Group {
    const group = this.#groups.get(id);
    if (group === undefined) throw new Error(`there is no group ${id}`);
    return group;
  }

  #end(group: Group, perhaps: State | undefined): void {
    group.busy = false;
    group.perhaps = perhaps;
  }
}

/** Says whether a group is as it may be, and remembers what it turned out to be. */
function settle(
  id: number,
  group: Group,
  marks: number | undefined,
  final: boolean,
): readonly string[] {
  const seen: State = marks ?? 'absent';
  const { state, perhaps } = group;
  if (seen === perhaps) group.state = seen;
  if (seen === perhaps || final) group.perhaps = undefined;
  if (seen === state || seen === perhaps) return [];
  const may = perhaps === undefined ? `${state}` : `${state} or ${perhaps}`;
  return [`group ${id} is ${seen}, and must be ${may}`];
}
