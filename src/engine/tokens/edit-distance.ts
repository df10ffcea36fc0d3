/** Result of a comparison, with the least next word of interest. */
interface EditsFound {
  readonly isNear: boolean;
  /** No word between the compared one and this one is near. */
  readonly next: string;
}

/** Sorts after every letter, so a prefix and this text sort after all words with the prefix. */
const LAST_UNIT = '\uffff';

/**
 * Finds the words within a Levenshtein distance of another word: inserted, removed and replaced
 * characters. Words should come in order: only the part of a word that differs from the one before
 * is compared, and only while the distance can still be within the bound.
 */
export class NearWords {
  readonly #letters: readonly string[];
  readonly #most: number;
  readonly #stride: number;
  /** The edits between the first letters of both, a stretch for each letter of the other: no further apart than may be. */
  #edits: Uint8Array;
  /** The letters of the other that these are about. */
  #last: readonly string[] = [];

  constructor(word: string, most: number) {
    this.#letters = Array.from(word);
    this.#most = most;
    this.#stride = 2 * most + 1;
    this.#edits = new Uint8Array(64 * this.#stride);
    for (let at = 0; at < this.#stride; at++) {
      const length = at - most;
      const isThere = length >= 0 && length <= this.#letters.length;
      this.#edits[at] = isThere ? length : most + 1;
    }
  }

  look(other: string): EditsFound {
    const letters = Array.from(other);
    let length = sharedLength(letters, this.#last);
    let least = 0;
    while (length < letters.length && least <= this.#most) {
      least = this.#add(letters[length]!, length);
      length++;
    }
    this.#last = length === letters.length ? letters : letters.slice(0, length);
    if (least > this.#most) return { isNear: false, next: this.#last.join('') + LAST_UNIT };
    const at = this.#letters.length - length + this.#most;
    const isFit = at >= 0 && at < this.#stride;
    return { isNear: isFit && this.#edits[length * this.#stride + at]! <= this.#most, next: other };
  }

  /**
   * Adds a character of the other word. Returns the least distance, a lower bound for longer words.
   */
  #add(letter: string, length: number): number {
    const [most, stride, own] = [this.#most, this.#stride, this.#letters];
    if ((length + 2) * stride > this.#edits.length) this.#grow();
    const edits = this.#edits;
    const before = length * stride;
    const now = before + stride;
    let least = most + 1;
    for (let at = 0, place = length + 1 - most; at < stride; at++, place++) {
      let fewest = most + 1;
      if (place === 0) fewest = Math.min(fewest, length + 1);
      if (place > 0 && place <= own.length) {
        fewest = Math.min(fewest, edits[before + at]! + (own[place - 1] === letter ? 0 : 1));
        if (at > 0) fewest = Math.min(fewest, edits[now + at - 1]! + 1);
      }
      if (place >= 0 && place <= own.length && at + 1 < stride) {
        fewest = Math.min(fewest, edits[before + at + 1]! + 1);
      }
      edits[now + at] = fewest;
      if (fewest < least) least = fewest;
    }
    return least;
  }

  #grow(): void {
    const edits = new Uint8Array(2 * this.#edits.length);
    edits.set(this.#edits);
    this.#edits = edits;
  }
}

/** Length of the common prefix of two words. */
function sharedLength(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one[length] === other[length]) length++;
  return length;
}
