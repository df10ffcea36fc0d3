/** A note and the name it is kept under. */
export interface Note {
  readonly name: string;
  readonly text: string;
}

/**
 * Short texts beside the ordered keys of a store, one by name. They are no
 * changes: they have no number, no check, and the journal does not know them.
 * The latest may be lost with the power, never mixed with another.
 */
export interface Notes {
  /**
   * Keeps a text in place of the one of that name.
   * @param name Of `A-Za-z0-9-`.
   */
  keep(name: string, text: string): Promise<void>;
  /**
   * The same, at less cost, for a name that only this process writes, and always so; a text
   * has at most 4,000 bytes.
   */
  keepOwn(name: string, text: string): Promise<void>;
  /**
   * Keeps a text where the name has none: of several that do so at once, one.
   * @returns Whether it was kept.
   */
  claim(name: string, text: string): Promise<boolean>;
  /** The text of a name; undefined where there is none. */
  get(name: string): Promise<string | undefined>;
  /** Removes the text of a name, if there is one. */
  remove(name: string): Promise<void>;
  /** Every note, in the order of the names. */
  all(): Promise<readonly Note[]>;
  close(): Promise<void>;
}

/** Notes that can only be read. */
export type ReadNotes = Pick<Notes, 'get' | 'all' | 'close'>;
