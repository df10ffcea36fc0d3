import type { ObjectPath } from '../../protocol/identifier.ts';
import { compareBytewise } from '../catalog/bytewise.ts';
import type { Entry } from '../catalog/page.ts';

/**
 * The names of the tables that the service answers for itself. Only who asks for
 * their namespace is told them: clients that copy or count what a catalog lists
 * would take them for its own.
 */
export class VirtualNames {
  readonly #tables: readonly ObjectPath[];

  constructor(tables: readonly ObjectPath[]) {
    this.#tables = tables;
  }

  /** Whether there is such a namespace. */
  hasNamespace(path: ObjectPath): boolean {
    return path.length > 0 && this.#tables.some((table) => liesIn(table, path));
  }

  /** The tables directly inside a namespace. */
  tables(parent: ObjectPath): readonly Entry[] {
    return this.#tables
      .filter((table) => liesIn(table, parent) && table.length === parent.length + 1)
      .map((path) => ({ name: path.at(-1)!, path }));
  }
}

/** Entries in the order of their names, some at a time, with others that lie beyond a text put where they belong. */
export async function* withEntries(
  chunks: AsyncIterable<readonly Entry[]>,
  others: readonly Entry[],
  after: string,
): AsyncGenerator<readonly Entry[]> {
  const waiting = others
    .filter(({ name }) => compareBytewise(name, after) > 0)
    .sort((one, other) => compareBytewise(one.name, other.name));
  for await (const chunk of chunks) {
    if (waiting.length === 0) yield chunk;
    else yield chunk.flatMap((entry) => [...before(waiting, entry.name), entry]);
  }
  yield waiting;
}

/** Takes those away that lie before a name. */
function before(waiting: Entry[], name: string): readonly Entry[] {
  const next = waiting.findIndex((one) => compareBytewise(one.name, name) >= 0);
  return waiting.splice(0, next < 0 ? waiting.length : next);
}

function liesIn(table: ObjectPath, namespace: ObjectPath): boolean {
  return table.length > namespace.length && namespace.every((name, at) => table[at] === name);
}
