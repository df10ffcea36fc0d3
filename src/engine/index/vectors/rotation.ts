import { LRUCache } from 'lru-cache';

/** Number of cached rotations. */
const KNOWN = 8;
/** Number of rounds: enough to spread a value over all others. */
const ROUNDS = 4;

/**
 * Rotates all vectors alike by pseudo-random sign changes and fast Hadamard transforms, which are
 * applied to the first and the last values in turn if the length is no power of two. Lengths and
 * angles stay, and no value dominates, as 1-bit codes require (RaBitQ, arXiv 2405.12497).
 */
class Rotation {
  readonly #size: number;
  /** Greatest power of two that does not exceed the size. */
  readonly #span: number;
  readonly #signs: readonly Float64Array[];

  constructor(size: number) {
    this.#size = size;
    this.#span = 2 ** Math.floor(Math.log2(size));
    const rounds = this.#span === size ? 2 : ROUNDS;
    // The signs include the scale of the transform.
    const scale = 1 / Math.sqrt(this.#span);
    this.#signs = Array.from({ length: rounds }, (_, round) =>
      Float64Array.from({ length: size }, (_, at) => signAt(round, at) * scale),
    );
  }

  /** Rotates a vector in place. */
  turn(vector: Float64Array): void {
    const [size, span] = [this.#size, this.#span];
    for (let round = 0; round < this.#signs.length; round++) {
      const signs = this.#signs[round]!;
      const start = round % 2 === 0 ? 0 : size - span;
      for (let at = start; at < start + span; at++) vector[at]! *= signs[at]!;
      transform(vector, start, span);
    }
  }
}

/** Cache of rotations by length. */
const cache = new LRUCache<string, Rotation>({ max: KNOWN });

/** The rotation for a vector length. */
export function rotationOf(size: number): Rotation {
  const rotation = cache.get(String(size)) ?? new Rotation(size);
  cache.set(String(size), rotation);
  return rotation;
}

/** The fast Walsh-Hadamard transform, without its scale. */
function transform(vector: Float64Array, start: number, span: number): void {
  const end = start + span;
  for (let half = 1; half < span; half *= 2) {
    for (let first = start; first < end; first += 2 * half) {
      for (let at = first; at < first + half; at++) {
        const one = vector[at]!;
        const other = vector[at + half]!;
        vector[at] = one + other;
        vector[at + half] = one - other;
      }
    }
  }
}

/** Constant across processes and versions: files depend on it. */
function signAt(round: number, at: number): number {
  let mixed = Math.imul(at + 1, 0x9e_37_79_b1) ^ Math.imul(round + 1, 0x85_eb_ca_77);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c_1b_3c_6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x29_7a_2d_39);
  return ((mixed ^ (mixed >>> 15)) & 1) === 0 ? 1 : -1;
}
