import { send } from './http.ts';
import type { Random } from './random.ts';
import { goodRows } from './table-bodies.ts';

type Body = object | Uint8Array | undefined;

const names = ['a', 'b', 'c', 'é x'];
const labels = ['one', 'two', 'three'];

/** Changes of a catalog, whatever becomes of them: names are few, so that they meet each other again. */
export class CatalogHistory {
  readonly #random: Random;
  /** How many changes were acknowledged. */
  done = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Makes so many changes, one after the other. */
  async run(url: string, count: number): Promise<void> {
    for (let step = 0; step < count; step++) await this.step(url);
  }

  /** Makes a change. Rejects when the connection is lost. */
  async step(url: string): Promise<void> {
    const [line, body] = this.#oneOf(this.#changes())();
    const { status } = await send(url, `POST /v1/${line}`, { body });
    if (status === 200) this.done += 1;
  }

  #changes(): readonly (() => readonly [string, Body])[] {
    const namespace = this.#id(1 + this.#random(2));
    const table = this.#id(1 + this.#random(2));
    const on = (action: string, body: Body) => () => [`table/${table}/${action}`, body] as const;
    const [name, tag] = [this.#oneOf(labels), this.#oneOf(labels)];
    const version = 1 + this.#random(4);
    const branch = this.#random(3) === 0 ? name : 'main';
    const create = on('create?mode=exist_ok', goodRows);
    const insert = on(`insert?branch=${branch}`, goodRows);
    return [
      () => [`namespace/${namespace}/create`, { properties: { p: tag }, mode: 'Overwrite' }],
      () => [`namespace/${namespace}/create`, { properties: { [name]: tag } }],
      () => [
        `namespace/${namespace}/drop`,
        { behavior: this.#oneOf(['restrict', 'restrict', 'restrict', 'cascade']) },
      ],
      create,
      create,
      create,
      insert,
      insert,
      insert,
      on('create?mode=overwrite', goodRows),
      on('declare', {}),
      on('drop', {}),
      on('deregister', {}),
      on('rename', { new_table_name: this.#oneOf(names), new_namespace_id: this.#path(1) }),
      on('delete', { predicate: 'id = 2', branch }),
      on('update', { updates: [['name', "'changed'"]], predicate: 'id = 1', branch }),
      on('restore', { version }),
      on('schema_metadata/update', { [name]: tag }),
      on('add_columns', { new_columns: [{ name: `c_${tag}`, expression: 'id + 1' }] }),
      on('drop_columns', { columns: [`c_${tag}`] }),
      on('tags/create', { tag, version }),
      on('tags/create', { tag, version, branch }),
      on('tags/update', { tag, version }),
      on('tags/delete', { tag }),
      on('branches/create', { name }),
      on('branches/create', { name, from_version: version }),
      on('branches/delete', { name }),
      on('version/delete', { ranges: [{ start_version: 1, end_version: version }] }),
    ];
  }

  #id(depth: number): string {
    return encodeURIComponent(this.#path(depth).join('$'));
  }

  #path(depth: number): readonly string[] {
    return Array.from({ length: depth }, () => this.#oneOf(names));
  }

  #oneOf<Item>(items: readonly Item[]): Item {
    return items[this.#random(items.length)]!;
  }
}
