import { type Data, DataType, Vector } from 'apache-arrow';
import { ColumnCursor } from './column-cursor.ts';
import { concatData } from '../concat.ts';
import { ArrowError, corrupt } from '../arrow-error.ts';
import { decodeColumn } from './column-decoding.ts';
import type { DictionaryMessage } from './message.ts';
import { childrenOf } from '../nested-type.ts';
import { nullsOf } from '../nullability.ts';
import type { DecodedSchema } from './schema-decoding.ts';
import { sameType } from '../types.ts';
import { validateData } from '../validate.ts';

interface Entry {
  readonly type: DataType;
  readonly name: string;
  /** Longest first, each less than half of the one before: appending stays cheap. */
  chunks: readonly Data[];
  vector: Vector | undefined;
}

/** The dictionaries of one stream as far as they were read, by their id in the stream. */
export class StreamDictionaries {
  readonly #entries = new Map<number, Entry>();
  readonly #ids: ReadonlyMap<number, number>;
  readonly #limit: number;
  #bytes = 0;

  /** `limit` bounds the bytes of all dictionaries together. */
  constructor(decoded: DecodedSchema, limit: number) {
    this.#ids = decoded.dictionaryIds;
    this.#limit = limit;
    for (const field of decoded.schema.fields) this.#register(field.type, field.name);
  }

  /**
   * Takes the values of a dictionary message: more of them for a delta, else
   * those that batches after it use. Throws `limit` if all that came, also
   * what was replaced, are too many bytes: what is written keeps them.
   */
  add(message: DictionaryMessage, buffers: readonly Uint8Array[], mostRows: number): void {
    const { id, isDelta, header } = message;
    const entry = this.#entries.get(id);
    if (entry === undefined)
      throw corrupt(`No column has the dictionary ${id} that a message brings.`);
    const size = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
    this.#bytes += size;
    if (this.#bytes > this.#limit) {
      throw new ArrowError('limit', `The dictionaries have more than ${this.#limit} bytes.`);
    }
    const name = `${entry.name} (dictionary)`;
    const cursor = new ColumnCursor({ header, buffers, dictionary: this.find, mostRows });
    const values = decodeColumn(entry.type, name, cursor);
    cursor.finish();
    if (values.length !== header.rows)
      throw corrupt(`Column "${name}" has not as many values as declared.`);
    validateData(values, name);
    if (!isDelta) entry.chunks = [];
    append(entry, values);
  }

  /** The dictionary of a dictionary type of the schema, empty if none was read. */
  readonly find = (typeId: number, name: string): Vector => {
    const entry = this.#entries.get(this.#ids.get(typeId) ?? -1);
    if (entry === undefined)
      throw corrupt(`Column "${name}" has a dictionary that the schema lacks.`);
    entry.vector ??= new Vector(
      entry.chunks.length > 0 ? [...entry.chunks] : [nullsOf(entry.type, 0)],
    );
    return entry.vector;
  };

  #register(type: DataType, name: string): void {
    if (DataType.isDictionary(type)) {
      const id = this.#ids.get(type.id) ?? -1;
      const cached = this.#entries.get(id);
      if (cached === undefined) {
        this.#entries.set(id, { type: type.dictionary, name, chunks: [], vector: undefined });
      } else if (!sameType(cached.type, type.dictionary)) {
        throw corrupt(
          `Columns "${cached.name}" and "${name}" share a dictionary, but not its type.`,
        );
      }
      this.#register(type.dictionary, name);
    }
    for (const child of childrenOf(type)) this.#register(child.type, `${name}.${child.name}`);
  }
}

/** Appends values, joining pieces so that their sizes at least halve from one to the next. */
function append(entry: Entry, values: Data): void {
  // Vectors that were handed out hold the previous list.
  const chunks = [...entry.chunks];
  let last = values;
  for (;;) {
    const before = chunks.at(-1);
    if (before === undefined || before.length > 2 * last.length) break;
    last = concatData([before, last]);
    chunks.pop();
  }
  entry.chunks = [...chunks, last];
  entry.vector = undefined;
}
