import type { AuditRecord } from './record.ts';

/** How many texts are kept at most, by their keys. */
const KEPT_TEXTS = 512;
/** Characters of the longest of them. */
const KEPT_LENGTH = 4096;

/** The text of some fields of a record. */
interface Kept {
  readonly record: AuditRecord;
  text: string;
  isFlat: boolean;
}

/**
 * Fields of a record as text, which other records often share: the outcome of
 * a request with its attempt, the requests of a caller with one another.
 */
export class RepeatedText {
  readonly #keyOf: (record: AuditRecord) => string | null;
  readonly #isSame: (one: AuditRecord, other: AuditRecord) => boolean;
  readonly #write: (record: AuditRecord) => string;
  readonly #kept = new Map<string | null, Kept>();

  /** @param keyOf What tells most records with other texts apart; the last of each key is kept. */
  constructor(
    keyOf: (record: AuditRecord) => string | null,
    isSame: (one: AuditRecord, other: AuditRecord) => boolean,
    write: (record: AuditRecord) => string,
  ) {
    this.#keyOf = keyOf;
    this.#isSame = isSame;
    this.#write = write;
  }

  text(record: AuditRecord): string {
    const key = this.#keyOf(record);
    const kept = this.#kept.get(key);
    if (kept === undefined) return this.#added(key, record);
    if (!this.#isSame(kept.record, record)) return this.#added(key, record);
    if (!kept.isFlat) {
      // A text that was put together from many is one only after it was copied.
      kept.text = Buffer.from(kept.text).toString();
      kept.isFlat = true;
    }
    return kept.text;
  }

  #added(key: string | null, record: AuditRecord): string {
    const text = this.#write(record);
    if (text.length > KEPT_LENGTH) return text;
    if (this.#kept.size >= KEPT_TEXTS) this.#kept.clear();
    this.#kept.set(key, { record, text, isFlat: false });
    return text;
  }
}
