import type { AuditRecord } from './record.ts';

/**
 * Fields of a record as text, which the next record often shares: the outcome of
 * a request with its attempt, the requests of a caller with one another.
 */
export class RepeatedText {
  readonly #isSame: (one: AuditRecord, other: AuditRecord) => boolean;
  readonly #write: (record: AuditRecord) => string;
  #last: AuditRecord | undefined;
  #text = '';
  #isFlat = false;

  constructor(
    isSame: (one: AuditRecord, other: AuditRecord) => boolean,
    write: (record: AuditRecord) => string,
  ) {
    this.#isSame = isSame;
    this.#write = write;
  }

  text(record: AuditRecord): string {
    if (this.#last === undefined || !this.#isSame(this.#last, record)) {
      this.#text = this.#write(record);
      this.#isFlat = false;
    } else if (!this.#isFlat) {
      // A text that was put together from many is one only after it was copied.
      this.#text = Buffer.from(this.#text).toString();
      this.#isFlat = true;
    }
    this.#last = record;
    return this.#text;
  }
}
