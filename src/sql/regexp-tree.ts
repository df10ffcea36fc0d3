import type { CharacterSet } from './regexp-set.ts';

/** A place between two characters that a regular expression asks for. */
export type Assertion =
  | 'text-start'
  | 'text-end'
  | 'line-start'
  | 'line-end'
  | 'boundary'
  | 'no-boundary';

/** A regular expression as read. */
export type RegexpNode =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly RegexpNode[] }
  | { readonly kind: 'choice'; readonly parts: readonly RegexpNode[] }
  /** `most` is Infinity where there is no end. */
  | {
      readonly kind: 'repeat';
      readonly body: RegexpNode;
      readonly least: number;
      readonly most: number;
      /** Whether as few as possible are taken: it finds the same texts, but other parts of them. */
      readonly lazy: boolean;
    }
  /** A group whose text is asked for, counted from 1. */
  | { readonly kind: 'group'; readonly index: number; readonly body: RegexpNode };

/** A regular expression with its groups. */
export interface RegexpTree {
  readonly root: RegexpNode;
  /** How many groups have a number. */
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
}

/** How the characters of a regular expression are to be read. */
export interface RegexpFlags {
  /** `i`: letters stand for both cases. */
  readonly ignoreCase: boolean;
  /** `m`: `^` and `$` stand at the ends of lines too. */
  readonly lines: boolean;
  /** `s`: the dot takes a line feed too. */
  readonly dotAll: boolean;
}
