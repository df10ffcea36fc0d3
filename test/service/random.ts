/** A repeatable source of whole numbers from 0 up to below `bound`. */
export type Random = (bound: number) => number;

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // The low bits of such a generator repeat soon.
    return Math.floor((state / 2 ** 32) * bound);
  };
}
