import type { Check, Write } from '../../store/store.ts';

/** What is committed together with a change, so that the change is made once: it keeps what the change answers. */
export interface Seal<Result> {
  /** That nobody has made the change yet. */
  readonly checks: readonly Check[];
  /** What remembers it, given what it came to. */
  writes(result: Result): readonly Write[];
  /** @throws AlreadyDone, when one of the checks does not hold. */
  broken(): Promise<never>;
}

/** A change that was made before. Not a refusal: whoever asked gets the answer of the first time. */
export class AlreadyDone extends Error {
  /** Whether this very request made it, in an attempt whose outcome was unknown: then what it wrote must stay. */
  readonly mine: boolean;

  constructor(mine: boolean) {
    super('the change was made before');
    this.name = 'AlreadyDone';
    this.mine = mine;
  }
}

/** A seal for a commit that knows less than what the answer says. */
export function sealOf<Inner, Outer>(
  seal: Seal<Outer> | undefined,
  whole: (inner: Inner) => Outer,
): Seal<Inner> | undefined {
  if (seal === undefined) return undefined;
  return {
    checks: seal.checks,
    writes: (inner) => seal.writes(whole(inner)),
    broken: () => seal.broken(),
  };
}
