import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Store } from '../../../store/store.ts';
import { compareBytewise, cutBytes } from './bytewise.ts';
import { children, longestName, type Child } from './children.ts';
import { namespaceKey, namespacesOf, tablesOf } from './keys.ts';

/** A priority queue: a binary heap that gives its least element first. */
export class Heap<Element> {
  readonly #elements: Element[] = [];
  readonly #compare: (left: Element, right: Element) => number;

  /** @param compare Negative when the left element comes first. */
  constructor(compare: (left: Element, right: Element) => number) {
    this.#compare = compare;
  }

  push(element: Element): void {
    const elements = this.#elements;
    let place = elements.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (this.#compare(elements[above]!, element) <= 0) break;
      elements[place] = elements[above]!;
      place = above;
    }
    elements[place] = element;
  }

  /** Takes the least element out. */
  pop(): Element | undefined {
    const least = this.#elements[0];
    const last = this.#elements.pop();
    if (last !== undefined && this.#elements.length > 0) this.#sink(last);
    return least;
  }

  #sink(element: Element): void {
    const elements = this.#elements;
    let place = 0;
    for (;;) {
      const below = this.#lesserChild(place);
      if (below === undefined || this.#compare(element, elements[below]!) <= 0) break;
      elements[place] = elements[below]!;
      place = below;
    }
    elements[place] = element;
  }

  #lesserChild(place: number): number | undefined {
    const left = 2 * place + 1;
    const right = left + 1;
    if (left >= this.#elements.length) return undefined;
    if (right >= this.#elements.length) return left;
    return this.#compare(this.#elements[left]!, this.#elements[right]!) <= 0 ? left : right;
  }
}

/** A table somewhere in the catalog. */
interface FoundTable {
  /** Its path below the walk's root, joined by the walk's delimiter. */
  readonly id: string;
  readonly path: ObjectPath;
  readonly value: Uint8Array;
}

interface WalkOptions {
  readonly delimiter: string;
  /** The namespace below which tables are looked for, and in which their ids begin; everything without. */
  readonly root?: ObjectPath | undefined;
  /** Only tables whose id lies beyond this text; it need not be anyone's id. */
  readonly after: string;
  /** How many children are read at once. */
  readonly chunk: number;
  /** Whether a namespace is worth opening: false leaves out everything below it. */
  readonly opens: (namespace: ObjectPath) => boolean;
}

/** A candidate for the next entry: its key is not above the id of any table below it. */
type Step =
  | { readonly key: string; readonly kind: 'table'; readonly child: Child; readonly level: Level }
  | {
      readonly key: string;
      readonly kind: 'namespace';
      readonly child: Child;
      readonly level: Level;
    }
  | { readonly key: string; readonly kind: 'open'; readonly path: ObjectPath };

/** An opened namespace: its children as they are read. */
interface Level {
  readonly path: ObjectPath;
  /** Prefix of the ids of everything inside. */
  readonly prefix: string;
  readonly tables: AsyncGenerator<Child>;
  readonly namespaces: AsyncGenerator<Child>;
}

/**
 * All tables of all namespaces in the order of their joined ids' bytes, read
 * as they are asked for: namespaces are opened when their turn comes, and those
 * that lie wholly before the start never.
 *
 * Names may hold the delimiter, so the ids of two namespaces can interleave: a
 * queue of what may come next keeps the order, whatever the delimiter.
 */
export async function* walkTables(store: Store, options: WalkOptions): AsyncGenerator<FoundTable> {
  const walk = new TableWalk(store, options);
  await walk.open(options.root ?? []);
  for (let step = walk.next(); step !== undefined; step = walk.next()) {
    if (step.kind === 'table') yield foundTable(step);
    await walk.proceed(step);
  }
}

function foundTable(step: { key: string; child: Child; level: Level }): FoundTable {
  return { id: step.key, path: [...step.level.path, step.child.name], value: step.child.value };
}

class TableWalk {
  readonly #store: Store;
  readonly #options: WalkOptions;
  readonly #queue = new Heap<Step>((left, right) => compareBytewise(left.key, right.key));

  constructor(store: Store, options: WalkOptions) {
    this.#store = store;
    this.#options = options;
  }

  next(): Step | undefined {
    return this.#queue.pop();
  }

  async proceed(step: Step): Promise<void> {
    if (step.kind === 'open') return this.open(step.path);
    if (step.kind === 'table') return this.#advanceTables(step.level);
    this.#announce(step.level, step.child.name);
    return this.#advanceNamespaces(step.level);
  }

  /** Begins with the children of a namespace, where they are not all before the start. */
  async open(path: ObjectPath): Promise<void> {
    const { delimiter, root = [], after, chunk } = this.#options;
    const named = path.slice(root.length);
    const prefix = named.map((segment) => segment + delimiter).join('');
    const rest = remainder(prefix, after);
    if (rest === undefined) return;
    const level = {
      path,
      prefix,
      tables: children(this.#store, tablesOf(path), rest, chunk),
      namespaces: children(this.#store, namespacesOf(path), rest, chunk),
    };
    for (const name of await this.#halfwayIn(path, rest)) this.#announce(level, name);
    await this.#advanceTables(level);
    await this.#advanceNamespaces(level);
  }

  #announce(level: Level, name: string): void {
    const path = [...level.path, name];
    if (!this.#options.opens(path)) return;
    this.#queue.push({ key: level.prefix + name + this.#options.delimiter, kind: 'open', path });
  }

  async #advanceTables(level: Level): Promise<void> {
    const next = await level.tables.next();
    if (next.done === true) return;
    this.#queue.push({
      key: level.prefix + next.value.name,
      kind: 'table',
      child: next.value,
      level,
    });
  }

  async #advanceNamespaces(level: Level): Promise<void> {
    const next = await level.namespaces.next();
    if (next.done === true) return;
    const key = level.prefix + next.value.name;
    this.#queue.push({ key, kind: 'namespace', child: next.value, level });
  }

  /** The child namespaces whose names come before the start, but not everything inside them. */
  async #halfwayIn(path: ObjectPath, rest: string): Promise<readonly string[]> {
    const longest = longestName(namespacesOf(path));
    const names = beginnings(rest, longest).filter((name) => this.#reaches(name, rest));
    const values = await this.#store.getMany(names.map((name) => namespaceKey([...path, name])));
    return names.filter((_, index) => values[index] !== undefined);
  }

  #reaches(name: string, rest: string): boolean {
    const { delimiter } = this.#options;
    const tail = rest.slice(name.length);
    return tail.startsWith(delimiter) || compareBytewise(delimiter, tail) > 0;
  }
}

/**
 * What of the start is left inside a namespace: names beyond it count, `''`
 * when all do; nothing when everything inside lies before the start.
 */
function remainder(prefix: string, after: string): string | undefined {
  if (after.startsWith(prefix)) return after.slice(prefix.length);
  return compareBytewise(prefix, after) > 0 ? '' : undefined;
}

/** Every beginning of a text that a name could be, the whole text too. */
function beginnings(text: string, bytes: number): readonly string[] {
  const found: string[] = [];
  let end = 0;
  for (const character of cutBytes(text, bytes)) {
    end += character.length;
    found.push(text.slice(0, end));
  }
  return found;
}
