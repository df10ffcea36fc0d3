import { Utf8, type Data } from 'apache-arrow';
import { nullsOf } from '../../../arrow/nullability.ts';
import { PageWriter, pageSchema } from '../keys/page-writer.ts';
import { textsData } from '../../format/manifest-data.ts';
import type { FragmentIndex, IndexDefinition, TableFolder } from '../../format/snapshot.ts';
import { encodePart } from './part-header.ts';
import { encodePostings } from './postings.ts';
import type { TokenTable } from './token-table.ts';

/** Limits of a page: tokens, and approximate bytes of postings and of tokens. */
const PAGE_TOKENS = 4096;
const PAGE_BYTES = 2 ** 18;
const PAGE_UNITS = 2 ** 21;

/**
 * Writes one file of a text index. Its parts cover consecutive rows. A part begins with a page
 * without a key, which holds the lengths of its texts, and continues with pages of tokens in order.
 */
export class TextFileWriter {
  readonly #pages: PageWriter;

  private constructor(pages: PageWriter) {
    this.#pages = pages;
  }

  /** Creates a file in a table's folder. */
  static async create(table: TableFolder, index: string): Promise<TextFileWriter> {
    const schema = pageSchema(new Utf8(), 'postings');
    return new TextFileWriter(await PageWriter.create(table, index, schema));
  }

  /** Writes the rows of a token table as a part. The consumer may stop before each page. */
  async *part(table: TokenTable): AsyncGenerator<0> {
    await this.#pages.postings(nullsOf(new Utf8(), 1), [encodePart(table.header())]);
    let tokens: string[] = [];
    let postings: Uint8Array[] = [];
    let [bytes, units] = [0, 0];
    const flush = async () => {
      if (tokens.length === 0) return;
      await this.#pages.postings(keysOf(tokens), postings);
      [tokens, postings, bytes, units] = [[], [], 0, 0];
    };
    for (const each of table.sorted()) {
      const encoded = encodePostings(each.postings);
      const isFull = tokens.length >= PAGE_TOKENS || units >= PAGE_UNITS;
      if (bytes + encoded.length > PAGE_BYTES || isFull) {
        yield 0;
        await flush();
      }
      tokens.push(each.token);
      postings.push(encoded);
      bytes += encoded.length;
      units += each.token.length;
    }
    await flush();
  }

  /** Finishes the file. The file and its name are durable when this returns. */
  finish(index: IndexDefinition): Promise<FragmentIndex> {
    return this.#pages.finish(index);
  }

  /** Abandons and removes the file. */
  abandon(): Promise<void> {
    return this.#pages.abandon();
  }
}

function keysOf(tokens: readonly string[]): Data {
  return textsData(tokens, (token) => token);
}
