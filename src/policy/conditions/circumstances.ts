/**
 * What surrounds a request, as far as conditions ask for it: plain values, so
 * that a decision can be made again from what was recorded. A value that is
 * absent is missing: it fails the condition of an allow and satisfies that of
 * a deny.
 */
export interface Circumstances {
  /** The address that the request came from. */
  readonly ip?: string | undefined;
  /** When it came, in milliseconds since 1970. */
  readonly time?: number | undefined;
  /** The context of the request, keys in lower case. */
  readonly context: ReadonlyMap<string, string>;
  /**
   * Keys of the context whose values are not known, so that they may be any: as with a
   * branch that is open, every condition about them is as good for the caller as it can be.
   */
  readonly openContext?: ReadonlySet<string> | undefined;
  /**
   * The branch that the request is about; absent where it is about none. Null
   * while it is open, since the body that may name it is not read: every
   * condition about it is then taken to be as good for the caller as it can be,
   * and whoever reads the body asks again.
   */
  readonly branch?: string | null | undefined;
}

/** Nothing is known: every condition of an allow fails, every one of a deny is satisfied. */
export const noCircumstances: Circumstances = { context: new Map() };
