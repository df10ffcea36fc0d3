import { CatalogError } from '../../../protocol/errors.ts';
import { isWordUnit, ownText, type Tokenizer } from '../../tokens/tokenizer.ts';
import { blockExtremes } from './block-extremes.ts';
import { GrowingNumbers } from './growing-numbers.ts';
import { HASH_FACTOR, HASH_START, PieceTable, UNKNOWN } from './piece-table.ts';
import { narrowed, type Postings } from './postings.ts';
import type { PartHeader } from './part-header.ts';
import type { RowTexts } from '../keys/text-column.ts';

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

/** Values of pieces that are no token, and of those whose token is not selected. */
const NO_TOKEN = -2;
const UNSELECTED = -3;

/** Classes of the bytes of a text: parts of words, others of ASCII, and those of other characters. */
const WORD = 1;
const BEYOND_ASCII = 2;
const classes = Uint8Array.from({ length: 256 }, (_, unit) =>
  unit >= 0x80 ? BEYOND_ASCII : Number(isWordUnit(unit)),
);

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
  /** Ids of the tokens of pieces of ASCII texts. */
  readonly #pieces = new PieceTable();
  /** The tokens of all rows in their order. */
  readonly #tokens = new GrowingNumbers();
  readonly #positions = new GrowingNumbers();
  /** Number of `#tokens` up to the end of each row. */
  readonly #ends = new GrowingNumbers();
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
    const most = this.held + MOST_OF_ROW;
    let [count, next] = [0, 0];
    for (const text of texts ?? []) {
      const start = next;
      this.#tokenizer.visit(text, (token, position) => {
        count++;
        next = start + position + GAP;
        const id = this.#idOf(token);
        if (id !== UNSELECTED) this.#addToken(id, start + position);
        if (this.held > most) throw this.#tooMany();
      });
    }
    this.#endRow(count, texts !== null);
  }

  /**
   * Adds the next row with one text in UTF-8. Words of ASCII are found without a string for each.
   * @throws CatalogError as `add`.
   */
  addUtf8(bytes: Uint8Array, start: number, end: number): void {
    const held = this.held;
    const count = this.#tokenizer.splitsWords ? this.#addAscii(bytes, start, end) : null;
    if (count !== null) {
      this.#endRow(count, true);
      return;
    }
    this.#tokens.cut(held);
    this.#positions.cut(held);
    this.add([Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()]);
  }

  /** Adds the tokens of an ASCII text. Returns their number; null for another text. */
  #addAscii(bytes: Uint8Array, start: number, end: number): number | null {
    let [count, position, from, hash] = [0, 0, -1, 0];
    for (let at = start; at <= end; at++) {
      const unit = at === end ? 0 : bytes[at]!;
      if (classes[unit] === WORD) {
        if (from < 0) [from, hash] = [at, HASH_START];
        hash = Math.imul(hash ^ unit, HASH_FACTOR);
        continue;
      }
      if (classes[unit] === BEYOND_ASCII) return null;
      if (from < 0) continue;
      const id = this.#idOfPiece(bytes, from, at, hash);
      if (id !== NO_TOKEN) count++;
      if (id >= 0) this.#addToken(id, position);
      if (count > MOST_OF_ROW) throw this.#tooMany();
      position++;
      from = -1;
    }
    return count;
  }

  #idOfPiece(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const found = this.#pieces.find(bytes, start, end, hash);
    if (found !== UNKNOWN) return found;
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString(
      'latin1',
    );
    const token = this.#tokenizer.tokenOf(piece);
    const id = token === null ? NO_TOKEN : this.#idOf(token);
    this.#pieces.add(bytes, start, end, hash, id);
    return id;
  }

  #addToken(id: number, position: number): void {
    this.#tokens.add(id);
    if (this.#withPositions) this.#positions.add(position);
  }

  #endRow(count: number, isText: boolean): void {
    this.#ends.add(this.held);
    this.#lengths.add(count);
    this.#sum += count;
    if (isText) this.#texts++;
  }

  /** `UNSELECTED` for an unselected token. */
  #idOf(token: string): number {
    const found = this.#ids.get(token);
    if (found !== undefined) return found;
    if (this.#refused.has(token)) return UNSELECTED;
    const own = ownText(token);
    if (this.#test(own)) {
      const id = this.#ids.size;
      this.#ids.set(own, id);
      this.#units += own.length;
      return id;
    }
    if (this.#refused.size >= REFUSED) this.#refused.clear();
    this.#refused.add(own);
    return UNSELECTED;
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
    const { starts, rows, positions } = this.#byToken();
    for (const [token, id] of entries) {
      const [start, end] = [starts[id]!, starts[id + 1]!];
      const places = positions?.subarray(start, end) ?? null;
      yield { token, postings: this.#postings(rows.subarray(start, end), places) };
    }
  }

  /** Rows and positions of the occurrences, grouped by token, in the order in which they were added. */
  #byToken(): { starts: Uint32Array; rows: Uint32Array; positions: Uint32Array | null } {
    const tokens = this.#tokens.values;
    const places = this.#positions.values;
    const ends = this.#ends.values;
    const starts = new Uint32Array(this.#ids.size + 1);
    for (let at = 0; at < tokens.length; at++) starts[tokens[at]! + 1]!++;
    for (let id = 1; id < starts.length; id++) starts[id]! += starts[id - 1]!;
    const next = starts.slice();
    const rows = new Uint32Array(tokens.length);
    const positions = this.#withPositions ? new Uint32Array(tokens.length) : null;
    for (let row = 0, at = 0; row < ends.length; row++) {
      for (const end = ends[row]!; at < end; at++) {
        const to = next[tokens[at]!]!++;
        rows[to] = this.#first + row;
        if (positions !== null) positions[to] = places[at]!;
      }
    }
    return { starts, rows, positions };
  }

  /** @param rows The row of each occurrence; the distinct ones replace them. */
  #postings(rows: Uint32Array, positions: Uint32Array | null): Postings {
    const all = new Uint32Array(rows.length);
    let [length, mostCount] = [0, 0];
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at]!;
      if (length === 0 || rows[length - 1] !== row) rows[length++] = row;
      const count = ++all[length - 1]!;
      if (count > mostCount) mostCount = count;
    }
    const own = rows.subarray(0, length);
    const counts = narrowed(all.subarray(0, length), mostCount);
    const lengths = this.#lengths.values;
    let leastLength = Infinity;
    for (const row of own) leastLength = Math.min(leastLength, lengths[row - this.#first]!);
    return {
      rows: own,
      counts,
      positions:
        positions &&
        narrowed(
          positions,
          positions.reduce((a, b) => Math.max(a, b), 0),
        ),
      mostCount,
      leastLength,
      blocks: blockExtremes(own, counts, lengths, this.#first),
    };
  }

  #tooMany(): CatalogError {
    return new CatalogError(
      'InvalidInput',
      `the text of row ${this.#first + this.rows} of a fragment makes more than ${MOST_OF_ROW} tokens`,
    );
  }
}
