import type { Connection } from '@lancedb/lancedb';
import type { RawSide } from '../data/raw-side.ts';
import type { BenchOptions } from '../harness/options.ts';
import type { Row } from '../harness/table.ts';

/** What the questions about one kind of index work with: two sides whose tables are theirs to make and to drop. */
export interface IndexSides {
  /** The project over HTTP. */
  readonly raw: RawSide;
  /** LanceDB in this process. */
  readonly embedded: Connection;
  readonly options: BenchOptions;
}

/** The questions about one kind of index, and their answers. */
export interface IndexQuestions {
  readonly notes: readonly string[];
  readonly measure: (sides: IndexSides) => Promise<readonly Row[]>;
}
