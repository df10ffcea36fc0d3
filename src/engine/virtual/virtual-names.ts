import { joinIdentifier, type ObjectPath } from '../../protocol/identifier.ts';
import { compareBytewise } from '../catalog/bytewise.ts';
import type { Entry } from '../catalog/page.ts';

/** The names of the tables that the service answers for itself, and of the namespaces that they are in. */
export class VirtualNames {
  readonly #tables: readonly ObjectPath[];

  constructor(tables: readonly ObjectPath[]) {
    this.#tables = tables;
  }

  /** Whether there is such a namespace. */
  hasNamespace(path: ObjectPath): boolean {
    return path.length > 0 && this.#tables.some((table) => liesIn(table, path));
  }

  /** The namespaces directly inside another. */
  namespaces(parent: ObjectPath): readonly Entry[] {
    const inside = this.#tables.filter(
      (table) => liesIn(table, parent) && table.length > parent.length + 1,
    );
    const names = new Set(inside.map((table) => table[parent.length]!));
    return [...names].map((name) => ({ name, path: [...parent, name] }));
  }

  /** The tables directly inside a namespace. */
  tables(parent: ObjectPath): readonly Entry[] {
    return this.#tables
      .filter((table) => liesIn(table, parent) && table.length === parent.length + 1)
      .map((path) => ({ name: path.at(-1)!, path }));
  }

  /** All tables, by their ids. */
  allTables(delimiter: string): readonly Entry[] {
    return this.#tables.map((path) => ({ name: joinIdentifier(path, delimiter), path }));
  }
}

/** Entries in the order of their names, with others that lie beyond a text put where they belong. */
export async function* withEntries(
  entries: AsyncIterable<Entry>,
  others: readonly Entry[],
  after: string,
): AsyncGenerator<Entry> {
  const waiting = others
    .filter(({ name }) => compareBytewise(name, after) > 0)
    .sort((one, other) => compareBytewise(one.name, other.name));
  for await (const entry of entries) {
    while (waiting.length > 0 && compareBytewise(waiting[0]!.name, entry.name) < 0) {
      yield waiting.shift()!;
    }
    yield entry;
  }
  yield* waiting;
}

function liesIn(table: ObjectPath, namespace: ObjectPath): boolean {
  return table.length > namespace.length && namespace.every((name, at) => table[at] === name);
}
