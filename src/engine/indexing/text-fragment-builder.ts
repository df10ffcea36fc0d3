import type { Data } from 'apache-arrow';
import { CatalogError } from '../../protocol/errors.ts';
import type { IndexWork } from './index-builder.ts';
import { Pace } from '../base/pace.ts';
import type { FragmentIndex } from '../format/snapshot.ts';
import { textsOf, utf8TextsOf } from '../index/keys/text-column.ts';
import { TextFileWriter } from '../index/text/text-file-writer.ts';
import { defaultTextOptions } from '../tokens/text-options.ts';
import { TokenTable } from '../index/text/token-table.ts';
import { Tokenizer } from '../tokens/tokenizer.ts';
import { childData } from '../../arrow/data.ts';

/** Most tokens, distinct tokens and text of these in memory. */
const MOST_TOKENS = 2 ** 23;
const MOST_DISTINCT = 2 ** 20;
const MOST_UNITS = 2 ** 26;

/** Most distinct tokens and text of these that stay known in the next part, which counts them. */
const KEPT_DISTINCT = MOST_DISTINCT / 8;
const KEPT_UNITS = MOST_UNITS / 8;

type TextWork = Omit<IndexWork, 'onRows'>;

/**
 * Writes the text index file of a fragment and yields the number of rows done since. Deleted rows
 * are included, so that the file stays valid whatever rows are deleted later. The file is durable
 * at the end and removed if this ends early.
 */
export async function* indexTexts(work: TextWork): AsyncGenerator<number, FragmentIndex> {
  const writer = await TextFileWriter.create(work.snapshot, work.index.uuid);
  let file: FragmentIndex | undefined;
  try {
    yield* writeParts(work, writer);
    file = await writer.finish(work.index);
    return file;
  } finally {
    if (file === undefined) await writer.abandon();
  }
}

async function* writeParts(work: TextWork, writer: TextFileWriter): AsyncGenerator<number> {
  const { source, snapshot, fragment } = work;
  const options = work.index.text ?? defaultTextOptions;
  const tokenizer = new Tokenizer(options);
  const whole = { ...fragment, deletions: null, rows: fragment.physicalRows };
  const pace = new Pace();
  const table = new TokenTable(tokenizer, options.with_position, 0);
  for await (const { batch } of source.batches(snapshot, whole, [columnOf(work)])) {
    const add = adding(childData(batch.data));
    for (let row = 0; row < batch.numRows; row++) {
      if (isFull(table)) {
        yield* writer.part(table);
        table.restart(table.distinct < KEPT_DISTINCT && table.units < KEPT_UNITS);
      }
      add(table, row);
      if (row % PACE_ROWS === 0) await pace.turn();
    }
    yield batch.numRows;
  }
  if (table.rows > 0) yield* writer.part(table);
}

/** Adds the texts of a row of a column to a table. */
function adding(column: Data): (table: TokenTable, row: number) => void {
  const utf8 = utf8TextsOf(column);
  const texts = textsOf(column);
  if (utf8 === null) return (table, row) => table.add(texts(row));
  const { text, offsets } = utf8;
  return (table, row) => {
    if (utf8.isNull(row)) table.add(null);
    else table.addUtf8(text, Number(offsets[row]), Number(offsets[row + 1]));
  };
}

function isFull({ held, distinct, units }: TokenTable): boolean {
  return held >= MOST_TOKENS || distinct >= MOST_DISTINCT || units >= MOST_UNITS;
}

/** Rows between checks whether other requests should get a turn. */
const PACE_ROWS = 1024;

function columnOf({ snapshot, index }: TextWork): string {
  const field = snapshot.schema.fields[snapshot.fieldIds.indexOf(index.field)];
  if (field !== undefined) return field.name;
  throw new CatalogError('TableColumnNotFound', `the column of the index ${index.name} is gone`);
}
