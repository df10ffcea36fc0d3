import type { Logger } from 'pino';
import { ActRecords } from '../../audit/record/administrative.ts';
import type { AuditRecord } from '../../audit/record/record.ts';
import type { AuditLog } from '../../audit/writer.ts';
import type { FreezeCause, KeyFreezer } from '../../gateway/gateway.ts';
import type { KeyBook } from '../../gateway/identity/key-book.ts';
import { frozen, keyState, type StoredKey } from '../../gateway/identity/keys.ts';

/** Freezes keys where every process of the catalog reads them. */
export class KeyFreezing implements KeyFreezer {
  readonly #keys: Pick<KeyBook, 'update'>;
  readonly #audit: Pick<AuditLog, 'write'>;
  readonly #log: Logger;
  /** Keys that are being frozen. */
  readonly #pending = new Map<string, Promise<void>>();

  constructor(keys: Pick<KeyBook, 'update'>, audit: Pick<AuditLog, 'write'>, log: Logger) {
    this.#keys = keys;
    this.#audit = audit;
    this.#log = log;
  }

  freeze(key: string, cause: FreezeCause): Promise<void> {
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#freeze(key, cause).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return pending;
  }

  async #freeze(key: string, { restrictions, decisionId, object }: FreezeCause): Promise<void> {
    const details = { id: key, restrictions: restrictions.join(' '), request: decisionId };
    const act = { operation: 'KeysFreeze', subject: 'system:canary', object, details } as const;
    const records = new ActRecords(act);
    const now = new Date();
    const isMeant = (each: StoredKey) => each.id === key && keyState(each, now) === 'active';
    await this.#write(records.attempt());
    try {
      await this.#keys.update((keys) =>
        keys.map((each) => (isMeant(each) ? frozen(each, now) : each)),
      );
      this.#log.warn({ ...details, object }, 'a key named a canary and is frozen');
      await this.#write(records.outcome('done'));
    } catch (error) {
      this.#log.error({ err: error, ...details }, 'a key could not be frozen: revoke it');
      await this.#write(records.outcome('failed'));
    }
  }

  /** A key is frozen also while the log cannot be written; `healthy` of the log reports that. */
  async #write(record: AuditRecord): Promise<void> {
    try {
      await this.#audit.write(record, true);
    } catch (error) {
      this.#log.error({ err: error }, 'an audit record could not be written');
    }
  }
}
