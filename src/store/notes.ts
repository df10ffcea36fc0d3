/** A note and its name. */
export interface Note {
  readonly name: string;
  readonly text: string;
}

/**
 * Short texts by name, beside the ordered keys of a store. They have no sequence number and no
 * checks, and are not in the journal. A power failure may lose the latest text, but never mixes
 * two.
 */
export interface Notes {
  /**
   * Writes a text in place of the one of that name.
   * @param name Of `A-Za-z0-9-`.
   */
  keep(name: string, text: string): Promise<void>;
  /**
   * The same at less cost, for a name that only this process writes, always with this method.
   * A text has at most 4,000 bytes.
   */
  keepOwn(name: string, text: string): Promise<void>;
  /**
   * Writes a text if the name has none. Of concurrent callers one succeeds.
   * @returns Whether the text was written.
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
