import { textsOf } from '../../index/keys/text-column.ts';
import { TokenTable, type TokenTest } from '../../index/text/token-table.ts';
import type { Tokenizer } from '../../tokens/tokenizer.ts';
import { Pace } from '../../base/pace.ts';
import type { BatchSource } from '../scan/batch-source.ts';
import type { Fragment, FragmentIndex, Snapshot } from '../../format/snapshot.ts';
import type { PartHeader } from '../../index/text/part-header.ts';
import type { Postings } from '../../index/text/postings.ts';
import type { TokenVisitor } from '../../index/text/text-reader.ts';
import type { TextSource } from '../../index/text/text-source.ts';
import { childData } from '../../../arrow/data.ts';

/** The indexed texts of one column of a fragment. */
export interface FragmentTexts {
  readonly header: PartHeader;
  /** Postings of a token, part by part. */
  postings(token: string): Promise<readonly Postings[]>;
  /** Visits the tokens from a given one on. */
  visitTokens(from: string, visitor: TokenVisitor): Promise<void>;
}

/** Opens the text index of a fragment. @throws DamagedText */
export async function indexedTexts(
  source: TextSource,
  snapshot: Snapshot,
  file: FragmentIndex,
): Promise<FragmentTexts> {
  return {
    header: await source.lengths(snapshot, file),
    postings: (token) => source.postings(snapshot, file, token),
    visitTokens: (from, visitor) => source.visitTokens(snapshot, file, from, visitor),
  };
}

/** Parameters for scanning the texts of a fragment. */
export interface TextScan {
  readonly column: string;
  readonly tokenizer: Tokenizer;
  readonly withPositions: boolean;
  /** Selects tokens. */
  readonly test: TokenTest;
}

/**
 * Tokenises the texts of a fragment without an index. Deleted rows count as they do in an index.
 */
export async function scannedTexts(
  source: BatchSource,
  snapshot: Snapshot,
  fragment: Fragment,
  { column, tokenizer, withPositions, test }: TextScan,
): Promise<FragmentTexts> {
  const table = new TokenTable(tokenizer, withPositions, 0, test);
  const whole =
    fragment.deletions === null
      ? fragment
      : { ...fragment, deletions: null, rows: fragment.physicalRows };
  const pace = new Pace();
  for await (const { batch, release } of source.batches(snapshot, whole, [column])) {
    const texts = textsOf(childData(batch.data));
    for (let row = 0; row < batch.numRows; row++) {
      table.add(texts(row));
      if (row % 16 === 0) await pace.turn();
    }
    release?.();
  }
  const found = new Map([...table.sorted()].map(({ token, postings }) => [token, [postings]]));
  return {
    header: table.header(),
    postings: async (token) => found.get(token) ?? [],
    visitTokens: async (from, { visit }) => {
      let next: string | null = from;
      for (const token of found.keys()) {
        if (next === null) return;
        if (token >= next) next = visit(token);
      }
    },
  };
}
