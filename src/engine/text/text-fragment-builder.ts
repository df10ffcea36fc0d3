import { CatalogError } from '../../protocol/errors.ts';
import type { IndexWork } from '../index/index-builder.ts';
import { Pace } from '../query/pace.ts';
import type { FragmentIndex } from '../table/snapshot.ts';
import { textsOf } from './text-column.ts';
import { TextFileWriter } from './text-file-writer.ts';
import { defaultTextOptions } from './text-options.ts';
import { TokenTable } from './token-table.ts';
import { Tokenizer } from './tokenizer.ts';

/** So many tokens, and so many different ones, are held in memory at once. */
const MOST_TOKENS = 2 ** 23;
const MOST_DISTINCT = 2 ** 20;

/**
 * Writes what a text index knows of one fragment. Deleted rows are in it too, so that it
 * stays right whichever rows are deleted later. The file is on stable storage when
 * this returns, and nothing is left of it when it throws.
 */
export async function indexTexts(work: IndexWork): Promise<FragmentIndex> {
  const writer = await TextFileWriter.create(work.snapshot.folder, work.index.uuid);
  try {
    await writeParts(work, writer);
    return await writer.finish(work.index);
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

async function writeParts(work: IndexWork, writer: TextFileWriter): Promise<void> {
  const { source, snapshot, fragment, onRows } = work;
  const options = work.index.text ?? defaultTextOptions;
  const tokenizer = new Tokenizer(options);
  const begin = (first: number) => new TokenTable(tokenizer, options.with_position, first);
  const whole = { ...fragment, deletions: null, rows: fragment.physicalRows };
  const pace = new Pace();
  const onPage = () => onRows(0);
  let table = begin(0);
  let next = 0;
  for await (const { batch } of source.batches(snapshot, whole, [columnOf(work)])) {
    onRows(batch.numRows);
    const texts = textsOf(batch.data.children[0]!);
    for (let row = 0; row < batch.numRows; row++, next++) {
      if (table.held >= MOST_TOKENS || table.distinct >= MOST_DISTINCT) {
        await writer.part(table, onPage);
        table = begin(next);
      }
      table.add(texts(row));
      if (row % PACE_ROWS === 0) await pace.turn();
    }
  }
  if (table.rows > 0) await writer.part(table, onPage);
}

/** Others get their turn after so many rows, if it has been long. */
const PACE_ROWS = 1024;

function columnOf({ snapshot, index }: IndexWork): string {
  const field = snapshot.schema.fields[snapshot.fieldIds.indexOf(index.field)];
  if (field !== undefined) return field.name;
  throw new CatalogError('TableColumnNotFound', `the column of the index ${index.name} is gone`);
}
