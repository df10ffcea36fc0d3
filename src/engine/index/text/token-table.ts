import { CatalogError } from '../../../protocol/errors.ts';
import type { TextBytes } from '../../base/text-bytes.ts';
import { isWordUnit, ownText, type Tokenizer } from '../../tokens/tokenizer.ts';
import { GrowingNumbers } from './growing-numbers.ts';
import { PieceTable, UNKNOWN } from './piece-table.ts';
import { decodePostings, narrowed, type Postings } from './postings.ts';
import { PostingsEncoder, greatest, type Occurrences } from './postings-encoder.ts';
import { WideBytes } from './wide-bytes.ts';
import type { PartHeader } from './part-header.ts';
import type { RowTexts } from '../keys/text-column.ts';

/** Gap between the positions of two texts of a list, so that no phrase spans them. */
const GAP = 1000;

/** A token with its postings. */
interface TokenRows {
  readonly token: string;
  readonly postings: Postings;
}

/** A token with its occurrences. */
interface TokenOccurrences extends Occurrences {
  readonly token: string;
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
const OTHER = 0;
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
  #first: number;
  readonly #ids = new Map<string, number>();
  #sorted: readonly string[] = [];
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
   * Begins anew with the row that follows.
   * @param keepsWords Whether the tokens so far stay known: they count as distinct ones.
   */
  restart(keepsWords: boolean): void {
    this.#first += this.rows;
    for (const each of [this.#tokens, this.#positions, this.#ends, this.#lengths]) each.cut(0);
    this.#texts = 0;
    this.#sum = 0;
    if (keepsWords) return;
    this.#ids.clear();
    this.#sorted = [];
    this.#pieces.clear();
    this.#units = 0;
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
  addUtf8(text: TextBytes, start: number, end: number): void {
    const held = this.held;
    const count = this.#tokenizer.splitsWords ? this.#addAscii(text, start, end) : null;
    if (count !== null) {
      this.#endRow(count, true);
      return;
    }
    this.#tokens.cut(held);
    this.#positions.cut(held);
    this.add([stringOf(text, start, end, 'utf8')]);
  }

  /** Adds the tokens of an ASCII text. Returns their number; null for another text. */
  #addAscii(text: TextBytes, start: number, end: number): number | null {
    const { bytes } = text;
    let count = 0;
    let position = 0;
    for (let at = start; ; position++) {
      let kind = OTHER;
      while (at < end && (kind = classes[bytes[at]!]!) === OTHER) at++;
      if (kind === BEYOND_ASCII) return null;
      if (at >= end) return count;
      const from = at;
      while (at < end && (kind = classes[bytes[at]!]!) === WORD) at++;
      if (kind === BEYOND_ASCII) return null;
      const id = this.#idOfPiece(text, from, at);
      if (id !== NO_TOKEN) count++;
      if (id >= 0) this.#addToken(id, position);
      if (count > MOST_OF_ROW) throw this.#tooMany();
    }
  }

  #idOfPiece(text: TextBytes, start: number, end: number): number {
    const found = this.#pieces.find(text, start, end);
    if (found !== UNKNOWN) return found;
    const token = this.#tokenizer.tokenOf(stringOf(text, start, end, 'latin1'));
    const id = token === null ? NO_TOKEN : this.#idOf(token);
    this.#pieces.add(text, start, end, id);
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
    const most = greatest(lengths, 0, lengths.length);
    return {
      first: this.#first,
      texts: this.#texts,
      tokens: this.#sum,
      lengths: narrowed(lengths, most),
    };
  }

  /** The tokens with their postings, in order. */
  *sorted(): Generator<TokenRows> {
    const encoder = new PostingsEncoder(this.header());
    for (const each of this.occurrences()) {
      const size = encoder.take(each);
      const room = new WideBytes(size);
      encoder.write(room, 0, size);
      yield { token: each.token, postings: decodePostings(room.bytes) };
    }
  }

  /** The tokens with their occurrences, in order. Those of a token are valid until it was encoded. */
  *occurrences(): Generator<TokenOccurrences> {
    const { starts, rows, positions } = this.#byToken();
    for (const token of this.#sortedTokens()) {
      const id = this.#ids.get(token)!;
      const [start, end] = [starts[id]!, starts[id + 1]!];
      if (start < end) yield { token, rows, positions, start, end };
    }
  }

  /** Those that were sorted before stay so: they are a single run for the sort. */
  #sortedTokens(): readonly string[] {
    const more = [...this.#ids.keys()].slice(this.#sorted.length);
    if (more.length > 0) this.#sorted = [...this.#sorted, ...more].sort();
    return this.#sorted;
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

  #tooMany(): CatalogError {
    return new CatalogError(
      'InvalidInput',
      `the text of row ${this.#first + this.rows} of a fragment makes more than ${MOST_OF_ROW} tokens`,
    );
  }
}

function stringOf({ bytes }: TextBytes, start: number, end: number, encoding: BufferEncoding) {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString(encoding);
}
