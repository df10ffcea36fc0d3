import { Utf8 } from 'apache-arrow';
import { nullsOf } from '../../../arrow/nullability.ts';
import { PageWriter, pageSchema } from '../keys/page-writer.ts';
import type { FragmentIndex, IndexDefinition, TableFolder } from '../../format/snapshot.ts';
import { encodePart } from './part-header.ts';
import { PostingsEncoder } from './postings-encoder.ts';
import { PostingsPage } from './postings-page.ts';
import type { TokenTable } from './token-table.ts';

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
    const header = table.header();
    await this.#pages.postings(nullsOf(new Utf8(), 1), [encodePart(header)]);
    const page = new PostingsPage();
    const encoder = new PostingsEncoder(header);
    const flush = async () => {
      if (page.isEmpty) return;
      await this.#pages.page(page.tokens(), page.postings());
      page.clear();
    };
    for (const each of table.occurrences()) {
      const size = encoder.take(each);
      if (page.isFullFor(size)) {
        yield 0;
        await flush();
      }
      page.add(each.token, encoder, size);
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
