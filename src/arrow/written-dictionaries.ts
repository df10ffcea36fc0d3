import { type Data, DataType, type Dictionary, type Schema } from 'apache-arrow';
import { GrowingDictionary, remapIndices } from './growing-dictionary.ts';
import { childrenOf } from './nested-type.ts';

/** A dictionary of a schema that is written, growing while batches come. */
export interface WrittenDictionary {
  readonly type: Dictionary;
  readonly values: GrowingDictionary;
}

/**
 * The dictionaries of one output, by the ids of its writable schema. Batches
 * may bring different ones for a column; theirs become one.
 */
export class WrittenDictionaries {
  readonly #byId = new Map<number, WrittenDictionary>();

  constructor(writable: Schema) {
    for (const field of writable.fields) this.#register(field.type);
  }

  /** Outer ones before those inside their values. */
  all(): readonly WrittenDictionary[] {
    return [...this.#byId.values()];
  }

  /** A dictionary column with indices into the output's dictionary. */
  remap(data: Data, type: Dictionary): Data {
    const written = this.#byId.get(type.id);
    if (written === undefined || data.dictionary === undefined) {
      throw new TypeError(`No dictionary ${type.id} is written.`);
    }
    return remapIndices(data, written.values.add(data.dictionary));
  }

  #register(type: DataType): void {
    if (DataType.isDictionary(type)) {
      const dictionary: Dictionary = type;
      const values = new GrowingDictionary(dictionary);
      this.#byId.set(dictionary.id, { type: dictionary, values });
      this.#register(dictionary.dictionary);
    }
    for (const child of childrenOf(type)) this.#register(child.type);
  }
}
