import { CatalogError } from '../../../protocol/errors.ts';
import { ownText, type Tokenizer } from '../../tokens/tokenizer.ts';
import { blockExtremes } from './block-extremes.ts';
import { narrowed, type Postings } from './postings.ts';
import type { PartHeader } from './part-header.ts';
import type { RowTexts } from '../keys/text-column.ts';

/** A growing list of integers. */
class GrowingNumbers {
  #values = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(value: number): void {
    if (this.#length === this.#values.length) {
      const values = new Uint32Array(2 * this.#length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.#length++] = value;
  }

  /** The added numbers, as a view of memory that is reused. */
  get values(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }
}

/** Gap between the positions of two texts of a list, so that no phrase spans them. */
const GAP = 1000;

/** A token with its postings. */
interface TokenRows {
  readonly token: string;
  readonly postings: Postings;
}

/** Selects tokens. */
export type TokenTest = (token: string) => boolean;

const everyToken: TokenTest = () => true;

/** Number of unselected tokens that are cached. */
const REFUSED = 2 ** 16;
/** Limit of tokens of a row, including blank ones: more would take all memory. */
const MOST_OF_ROW = 15_000_000;

/**
 * Collects the tokens of consecutive rows: the rows of each token, occurrences and positions. Its
 * memory grows with the tokens, so callers with many rows flush it now and then.
 */
export class TokenTable {
  readonly #tokenizer: Tokenizer;
  readonly #withPositions: boolean;
  readonly #test: TokenTest;
  readonly #first: number;
  readonly #ids = new Map<string, number>();
  readonly #refused = new Set<string>();
  readonly #tokens = new GrowingNumbers();
  readonly #rows = new GrowingNumbers();
  readonly #positions = new GrowingNumbers();
  readonly #lengths = new GrowingNumbers();
  #texts = 0;
  #sum = 0;
  #units = 0;

  /**
   * @param first Position of the first row in its fragment's files.
   * @param test Selects tokens; other tokens count for the lengths of texts only.
   */
  constructor(
    tokenizer: Tokenizer,
    withPositions: boolean,
    first: number,
    test: TokenTest = everyToken,
  ) {
    this.#tokenizer = tokenizer;
    this.#withPositions = withPositions;
    this.#first = first;
    this.#test = test;
  }

  /** Number of token occurrences. */
  get held(): number {
    return this.#tokens.length;
  }

  get distinct(): number {
    return this.#ids.size;
  }

  /** Total length of the distinct tokens in UTF-16 code units. */
  get units(): number {
    return this.#units;
  }

  get rows(): number {
    return this.#lengths.length;
  }

  /**
   * Adds the next row.
   * @throws CatalogError InvalidInput for a row with more tokens than memory holds.
   */
  add(texts: RowTexts): void {
    const row = this.#first + this.#lengths.length;
    const most = this.held + MOST_OF_ROW;
    let [count, next] = [0, 0];
    for (const text of texts ?? []) {
      const start = next;
      this.#tokenizer.visit(text, (token, position) => {
        count++;
        next = start + position + GAP;
        this.#addToken(token, row, start + position);
        if (this.held > most) throw tooMany(row);
      });
    }
    this.#lengths.add(count);
    this.#sum += count;
    if (texts !== null) this.#texts++;
  }

  #addToken(token: string, row: number, position: number): void {
    const id = this.#ids.get(token) ?? this.#newId(token);
    if (id === undefined) return;
    this.#tokens.add(id);
    this.#rows.add(row);
    if (this.#withPositions) this.#positions.add(position);
  }

  /** Undefined for an unselected token. */
  #newId(token: string): number | undefined {
    if (this.#refused.has(token)) return undefined;
    const own = ownText(token);
    if (this.#test(own)) {
      const id = this.#ids.size;
      this.#ids.set(own, id);
      this.#units += own.length;
      return id;
    }
    if (this.#refused.size >= REFUSED) this.#refused.clear();
    this.#refused.add(own);
    return undefined;
  }

  /** The header with the lengths of the texts. */
  header(): PartHeader {
    const lengths = this.#lengths.values;
    let most = 0;
    for (const length of lengths) if (length > most) most = length;
    return {
      first: this.#first,
      texts: this.#texts,
      tokens: this.#sum,
      lengths: narrowed(lengths, most),
    };
  }

  /** The tokens with their postings, in order. */
  *sorted(): Generator<TokenRows> {
    const entries = [...this.#ids];
    entries.sort(([one], [other]) => (one < other ? -1 : 1));
    const { starts, order } = this.#byToken(entries.map(([, id]) => id));
    for (const [rank, [token]] of entries.entries()) {
      const places = order.subarray(starts[rank], starts[rank + 1]);
      yield { token, postings: this.#postings(places) };
    }
  }

  /** Groups occurrences by token, in the order in which they were added. */
  #byToken(ids: readonly number[]): { starts: Uint32Array; order: Uint32Array } {
    const ranks = new Uint32Array(this.#ids.size);
    for (const [rank, id] of ids.entries()) ranks[id] = rank;
    const tokens = this.#tokens.values;
    const starts = new Uint32Array(ids.length + 1);
    for (const id of tokens) starts[ranks[id]! + 1]!++;
    for (let rank = 0; rank < ids.length; rank++) starts[rank + 1]! += starts[rank]!;
    const next = starts.slice();
    const order = new Uint32Array(tokens.length);
    for (let at = 0; at < tokens.length; at++) order[next[ranks[tokens[at]!]!]!++] = at;
    return { starts, order };
  }

  #postings(places: Uint32Array): Postings {
    const found = this.#rows.values;
    const lengths = this.#lengths.values;
    const rows = new Uint32Array(places.length);
    const counts = new Uint32Array(places.length);
    let [length, mostCount, leastLength] = [0, 0, Infinity];
    for (const place of places) {
      const row = found[place]!;
      if (length === 0 || rows[length - 1] !== row) {
        rows[length++] = row;
        leastLength = Math.min(leastLength, lengths[row - this.#first]!);
      }
      mostCount = Math.max(mostCount, ++counts[length - 1]!);
    }
    const own = rows.slice(0, length);
    const narrow = narrowed(counts.subarray(0, length), mostCount);
    return {
      rows: own,
      counts: narrow,
      positions: this.#withPositions ? this.#positionsAt(places) : null,
      mostCount,
      leastLength,
      blocks: blockExtremes(own, narrow, lengths, this.#first),
    };
  }

  #positionsAt(places: Uint32Array): Postings['positions'] {
    const all = this.#positions.values;
    const positions = places.map((place) => all[place]!);
    return narrowed(
      positions,
      positions.reduce((most, position) => Math.max(most, position), 0),
    );
  }
}

function tooMany(row: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `the text of row ${row} of a fragment makes more than ${MOST_OF_ROW} tokens`,
  );
}
