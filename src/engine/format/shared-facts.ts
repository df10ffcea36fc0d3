import type { Schema } from 'apache-arrow';
import { decodeSchema } from '../../arrow/ipc/schema-encoding.ts';
import type { FragmentList } from './snapshot.ts';

/** Schemas of lists: the versions that share one share the object. */
const schemas = new WeakMap<FragmentList, Schema>();

/** The facts of a manifest, some of which are those of its lists. */
export class SharedFacts {
  readonly #facts: ReadonlyMap<string, string>;
  readonly #lists: readonly FragmentList[];
  readonly #shared: Readonly<Record<string, number>>;

  /** @param shared JSON: keys whose texts are those of a list, with the position of the list. */
  constructor(
    facts: ReadonlyMap<string, string>,
    lists: readonly FragmentList[],
    shared: string | undefined,
  ) {
    this.#facts = facts;
    this.#lists = lists;
    this.#shared = JSON.parse(shared ?? '{}') as Record<string, number>;
  }

  find(key: string): string | undefined {
    return this.#facts.get(key) ?? this.#listOf(key)?.facts.get(key);
  }

  require(key: string): string {
    const text = this.find(key);
    if (text === undefined) throw new Error(`the manifest has no ${key}`);
    return text;
  }

  /** @param key Of a base64 IPC schema message. */
  schema(key: string): Schema {
    const list = this.#listOf(key);
    const known = list && schemas.get(list);
    if (known !== undefined) return known;
    const schema = decodeSchema(Buffer.from(this.require(key), 'base64'));
    if (list !== undefined) schemas.set(list, schema);
    return schema;
  }

  #listOf(key: string): FragmentList | undefined {
    const at = this.#shared[key];
    return at === undefined ? undefined : this.#lists[at];
  }
}
