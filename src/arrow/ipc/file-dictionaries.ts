import { type Data, DataType, Field, Vector } from 'apache-arrow';
import { concatData } from '../concat.ts';
import { corrupt } from '../arrow-error.ts';
import type { FileMessages } from './file-messages.ts';
import type { Block } from './footer.ts';
import type { DictionaryMessage } from './message.ts';
import { childrenOf } from '../nested-type.ts';
import { nullsOf } from '../nullability.ts';

interface Part {
  readonly block: Block;
  readonly message: DictionaryMessage;
}

/** The dictionaries of one file, each read when it is first needed. */
export class FileDictionaries {
  readonly #messages: FileMessages;
  readonly #blocks: readonly Block[];
  readonly #ids: ReadonlyMap<number, number>;
  readonly #vectors = new Map<number, Promise<Vector>>();
  #parts: Promise<readonly Part[]> | undefined;

  /** `ids` leads from the ids of dictionary types to those in the file. */
  constructor(messages: FileMessages, blocks: readonly Block[], ids: ReadonlyMap<number, number>) {
    this.#messages = messages;
    this.#blocks = blocks;
    this.#ids = ids;
  }

  /** The dictionaries that columns of these types need, by the ids of the dictionary types. */
  async load(types: readonly DataType[]): Promise<ReadonlyMap<number, Vector>> {
    const found = new Map<number, Vector>();
    for (const type of types) await this.#collect(type, found);
    return found;
  }

  async #collect(type: DataType, found: Map<number, Vector>): Promise<void> {
    for (const child of childrenOf(type)) await this.#collect(child.type, found);
    if (!DataType.isDictionary(type)) return;
    await this.#collect(type.dictionary, found);
    const id = this.#ids.get(type.id) ?? -1;
    const vector = this.#vectors.get(id) ?? this.#read(id, type.dictionary, found);
    this.#vectors.set(id, vector);
    found.set(type.id, await vector);
  }

  async #read(id: number, type: DataType, inner: ReadonlyMap<number, Vector>): Promise<Vector> {
    this.#parts ??= this.#readParts();
    const parts = (await this.#parts).filter(({ message }) => message.id === id);
    const fields = [new Field('dictionary', type, true)];
    const chunks: Data[] = [];
    for (const { block, message } of parts) {
      const [values] = await this.#messages.columns(
        block,
        message.header,
        fields,
        { columns: [0] },
        inner,
      );
      chunks.push(values!);
    }
    return new Vector([chunks.length === 0 ? nullsOf(type, 0) : concatData(chunks)]);
  }

  async #readParts(): Promise<readonly Part[]> {
    const messages = await this.#messages.headers(this.#blocks);
    return messages.map((message, index) => {
      if (message.kind !== 'dictionary')
        throw corrupt('A dictionary block of a file holds no dictionary.');
      return { block: this.#blocks[index]!, message };
    });
  }
}
