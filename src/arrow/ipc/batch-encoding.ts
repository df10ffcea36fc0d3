import type { RecordBatch, Schema } from 'apache-arrow';
import { BodyWriter } from './body-writer.ts';
import { encodeColumn } from './column-encoding.ts';
import { concatData } from '../concat.ts';
import { ArrowError } from '../arrow-error.ts';
import { writableSchema } from './schema-encoding.ts';
import { sameType, typeName } from '../types.ts';
import { WrittenDictionaries, type WrittenDictionary } from '../growing-dictionary.ts';

/** Values of a dictionary to write. */
interface EncodedDictionary {
  readonly id: number;
  readonly isDelta: boolean;
  readonly rows: number;
  readonly body: BodyWriter;
}

/** Encodes the batches of one output and gathers their dictionaries. */
export class BatchEncoder {
  readonly writable: Schema;
  readonly #schema: Schema;
  readonly #alignment: number | undefined;
  readonly #dictionaries: WrittenDictionaries;
  readonly #started = new Set<WrittenDictionary>();

  /** @param alignment Of buffers, as for `BodyWriter`. */
  constructor(schema: Schema, alignment?: number) {
    this.#schema = schema;
    this.#alignment = alignment;
    this.writable = writableSchema(schema);
    this.#dictionaries = new WrittenDictionaries(this.writable);
  }

  /**
   * One batch. Throws `mismatch` if its columns are not the schema's in its
   * order, `limit` if a joint dictionary is too large for its index type.
   */
  encode(batch: RecordBatch): BodyWriter {
    if (batch.schema !== this.#schema) checkColumns(batch, this.#schema);
    const body = new BodyWriter(this.#alignment);
    const output = { body, dictionaries: this.#dictionaries };
    this.writable.fields.forEach((field, index) =>
      encodeColumn(batch.data.children[index]!, field.type, output),
    );
    return body;
  }

  /** Dictionary values added since the last call, inner dictionaries first. */
  takeDictionaries(): readonly EncodedDictionary[] {
    const encoded: EncodedDictionary[] = [];
    for (const dictionary of this.#dictionaries.all()) {
      const fresh = dictionary.values.fresh();
      if (fresh.length === 0) continue;
      const body = new BodyWriter(this.#alignment);
      const values = concatData(fresh);
      const { id, dictionary: type } = dictionary.type;
      // May add to the dictionaries inside the values, which come later in this loop.
      encodeColumn(values, type, { body, dictionaries: this.#dictionaries });
      const isDelta = this.#started.has(dictionary);
      this.#started.add(dictionary);
      encoded.push({ id, isDelta, rows: values.length, body });
    }
    return encoded.reverse();
  }
}

function checkColumns(batch: RecordBatch, schema: Schema): void {
  const { fields } = batch.schema;
  if (fields.length !== schema.fields.length) {
    const found = `${fields.length} columns, its file has ${schema.fields.length}`;
    throw new ArrowError('mismatch', `A batch has ${found}.`);
  }
  schema.fields.forEach((field, index) => {
    const found = fields[index]!;
    if (found.name === field.name && sameType(found.type, field.type)) return;
    const [is, wanted] = [found, field].map(({ name, type }) => `"${name}" of ${typeName(type)}`);
    throw new ArrowError('mismatch', `A batch has the column ${is}, its file has ${wanted}.`);
  });
}
