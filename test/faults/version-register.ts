/** What was asked of the register of a table's versions, and what was answered. */
export type RegisterCall =
  /** A next version was made, and is this one; undefined when no answer came. */
  | { readonly kind: 'next'; readonly version: number | undefined }
  /** This version was to be made: it was, it was refused, or no answer came. */
  | { readonly kind: 'create'; readonly version: number; readonly made: boolean | undefined }
  /** The newest version was read. */
  | { readonly kind: 'newest'; readonly version: number }
  /** One version was asked for. */
  | { readonly kind: 'has'; readonly version: number; readonly found: boolean }
  /** All versions were listed. */
  | { readonly kind: 'list'; readonly versions: readonly number[] };

/** A call and its time: it took effect at one moment between the two, if it did. */
export interface Timed {
  readonly call: RegisterCall;
  readonly start: number;
  /** Infinity when no answer came. */
  readonly end: number;
}

type Kind = RegisterCall['kind'];
type CallOf<Name extends Kind> = Extract<RegisterCall, { readonly kind: Name }>;

/** The newest version once a call of a kind took effect; undefined where its answer could not have been that. */
const effects: {
  readonly [Name in Kind]: (call: CallOf<Name>, newest: number) => number | undefined;
} = {
  next: ({ version = -1 }, newest) =>
    version === -1 || version === newest + 1 ? newest + 1 : undefined,
  create: ({ version, made }, newest) => {
    const isNext = version === newest + 1;
    if (made === false) return isNext ? undefined : newest;
    return isNext ? version : undefined;
  },
  newest: ({ version }, newest) => (version === newest ? newest : undefined),
  has: ({ version, found }, newest) => (found === version <= newest ? newest : undefined),
  list: ({ versions }, newest) => (isWhole(versions, newest) ? newest : undefined),
};

function applied<Name extends Kind>(call: CallOf<Name>, newest: number): number | undefined {
  const effect: (one: CallOf<Name>, before: number) => number | undefined = effects[call.kind];
  return effect(call, newest);
}

function isWhole(versions: readonly number[], newest: number): boolean {
  return versions.length === newest && versions.every((version, at) => version === at + 1);
}

/** A place in the search: the calls that took effect, and what they made. */
interface Place {
  readonly done: bigint;
  readonly newest: number;
  readonly order: readonly number[];
}

/**
 * Looks for an order of the calls, one after the other, that explains every
 * answer and keeps what was over before something else began before it (Herlihy
 * and Wing's linearisability; the search is that of Wing and Gong, and no set of
 * calls is looked at twice). A call without answer may have taken effect, once,
 * at any time after its start.
 * @param newest The version of the register before the first call.
 * @returns The order as places in `calls`; undefined when there is none.
 */
export function linearise(calls: readonly Timed[], newest: number): readonly number[] | undefined {
  const answered = calls.reduce(
    (bits, { end }, at) => (end < Infinity ? bits | bit(at) : bits),
    0n,
  );
  const seen = new Set<bigint>();
  const places: Place[] = [{ done: 0n, newest, order: [] }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    if ((place.done & answered) === answered) return place.order;
    for (const next of nextPlaces(calls, place)) {
      if (seen.has(next.done)) continue;
      seen.add(next.done);
      places.push(next);
    }
  }
  return undefined;
}

/** Where one more call can have taken effect: one that began before any other that is left was over. */
function nextPlaces(calls: readonly Timed[], { done, newest, order }: Place): readonly Place[] {
  const left = calls.flatMap((_, at) => ((done & bit(at)) === 0n ? [at] : []));
  const first = Math.min(...left.map((at) => calls[at]!.end));
  return left.flatMap((at) => {
    const { call, start } = calls[at]!;
    const made = start <= first ? applied(call, newest) : undefined;
    return made === undefined
      ? []
      : [{ done: done | bit(at), newest: made, order: [...order, at] }];
  });
}

function bit(at: number): bigint {
  return 1n << BigInt(at);
}
