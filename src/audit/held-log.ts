import { recordText } from './record/encoding.ts';
import type { AuditRecord } from './record/record.ts';
import type { AuditLog } from './writer.ts';

/** Maximum size of the records in memory, in characters. */
const HELD_CHARACTERS = 16 * 2 ** 20;

/**
 * The audit log of a service whose data folder cannot be written yet. Records of reads wait in
 * memory until the log is opened; a durable record, or one for which there is no room, is refused.
 */
export class HeldLog implements AuditLog {
  #held: AuditRecord[] = [];
  #characters = 0;
  #lost = 0;
  #log: AuditLog | undefined;

  get instance(): string {
    return this.#log?.instance ?? '';
  }

  write(record: AuditRecord, durable: boolean): Promise<void> | undefined {
    if (this.#log !== undefined) return this.#log.write(record, durable);
    if (durable) return Promise.reject(new Error('the audit log is not open yet'));
    const { length } = recordText(record);
    if (this.#characters + length > HELD_CHARACTERS) {
      this.#lost += 1;
      return Promise.reject(new Error('too many audit records wait for the log'));
    }
    this.#characters += length;
    this.#held.push(record);
    return undefined;
  }

  /** Writes the records that waited to a log, which takes all others from now on. */
  async continueIn(log: AuditLog): Promise<{ readonly written: number; readonly lost: number }> {
    const held = this.#held;
    this.#held = [];
    this.#log = log;
    const waits = held.flatMap((record) => log.write(record, false) ?? []);
    await Promise.all(waits);
    return { written: held.length, lost: this.#lost };
  }

  /** Number of records that are in no log. */
  get missing(): number {
    return this.#held.length + this.#lost;
  }

  /** Undefined before the log is opened: then the part `storage` of `/readyz` reports it. */
  healthy(): string | undefined {
    return this.#log?.healthy();
  }

  weakness(): string | undefined {
    return this.#log?.weakness();
  }

  /** Does nothing: the owner of the opened log closes it. */
  async close(): Promise<void> {
    await Promise.resolve();
  }
}
