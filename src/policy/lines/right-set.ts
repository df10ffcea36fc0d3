/** How many rights a set can hold. */
const MAX_RIGHTS = 96;

/** An immutable set of rights, by number. */
export class RightSet {
  static readonly none = new RightSet(0, 0, 0);

  readonly low: number;
  readonly middle: number;
  readonly high: number;

  private constructor(low: number, middle: number, high: number) {
    this.low = low;
    this.middle = middle;
    this.high = high;
  }

  /** @throws RangeError for a number that is not from 0 to 95. */
  static of(numbers: readonly number[]): RightSet {
    const words: [number, number, number] = [0, 0, 0];
    for (const number of numbers) {
      if (!(number >= 0 && number < MAX_RIGHTS)) {
        throw new RangeError(`a right has a number from 0 to ${MAX_RIGHTS - 1}, not ${number}`);
      }
      words[number >> 5]! |= 1 << (number & 31);
    }
    return new RightSet(...words);
  }

  /** The set of the words of another one, which may come from another thread. */
  static from({ low, middle, high }: Pick<RightSet, 'low' | 'middle' | 'high'>): RightSet {
    return new RightSet(low, middle, high);
  }

  /** Those of either set. Gives one of the two back where that is the answer. */
  union(other: RightSet): RightSet {
    if (other.within(this)) return this;
    if (this.within(other)) return other;
    return new RightSet(this.low | other.low, this.middle | other.middle, this.high | other.high);
  }

  /** Those of both sets. */
  and(other: RightSet): RightSet {
    return new RightSet(this.low & other.low, this.middle & other.middle, this.high & other.high);
  }

  /** Those of this set that the other has not. */
  without(other: RightSet): RightSet {
    return new RightSet(
      this.low & ~other.low,
      this.middle & ~other.middle,
      this.high & ~other.high,
    );
  }

  /** Whether the two have one in common. */
  meets(other: RightSet): boolean {
    return ((this.low & other.low) | (this.middle & other.middle) | (this.high & other.high)) !== 0;
  }

  /** Whether the other has all of this. */
  within(other: RightSet): boolean {
    return (
      ((this.low & ~other.low) | (this.middle & ~other.middle) | (this.high & ~other.high)) === 0
    );
  }
}
