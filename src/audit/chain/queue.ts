import type { LineLog, LogLine } from '../../storage/line-log.ts';
import { isPlainRecord, recordText } from '../record/encoding.ts';
import type { AuditRecord } from '../record/record.ts';
import type { BlockMemory, RecordBlock } from './block.ts';

/** Maximum delay before the log gets a record that no caller awaits, in ms. */
const DELAY_MILLIS = 20;
/** Maximum number of records that wait for their encoding. */
const MOST_WAITING = 64;

/**
 * Hands records to a log in order: a record that its caller awaits at once, the others
 * in blocks. Those are encoded many at a time: one by one, each between the work of two requests,
 * takes twice as long.
 */
export class RecordQueue {
  readonly #lines: LineLog;
  readonly #memory: BlockMemory;
  /** Records after those of the open block. */
  #waiting: AuditRecord[] = [];
  #open: RecordBlock | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Resolves when an overloaded log accepts more; undefined while it is not overloaded. */
  #room: Promise<void> | undefined;
  #closed = false;

  constructor(lines: LineLog, memory: BlockMemory) {
    this.#lines = lines;
    this.#memory = memory;
  }

  /** As `AuditLog.write`. */
  add(record: AuditRecord, durable: boolean): Promise<void> | undefined {
    if (durable || this.#closed) return this.#alone(record, durable);
    this.#waiting.push(record);
    // The lists of other records may still grow.
    if (this.#waiting.length >= MOST_WAITING || !isPlainRecord(record)) this.#encode();
    this.#timer ??= setTimeout(() => this.#handOver(), DELAY_MILLIS);
    return this.#room;
  }

  /** Writes and syncs everything. @throws Error when that fails. */
  async close(): Promise<void> {
    this.#handOver();
    this.#closed = true;
    const room = this.#room;
    await this.#lines.close();
    await room;
  }

  #alone(record: AuditRecord, durable: boolean): Promise<void> | undefined {
    const text = recordText(record);
    this.#handOver();
    return this.#lines.append({ bytes: text }, durable);
  }

  #handOver(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#encode();
    this.#closeBlock();
  }

  #encode(): void {
    const records = this.#waiting;
    if (records.length === 0) return;
    this.#waiting = [];
    for (const record of records) this.#put(record, recordText(record));
  }

  /** Puts a record into the open block, or into a new one. */
  #put(record: AuditRecord, text: string): void {
    if (this.#open?.add(record, text) === true) return;
    this.#closeBlock();
    const block = this.#memory.take();
    if (block.add(record, text)) {
      this.#open = block;
      return;
    }
    this.#memory.free(block.bytes);
    this.#append({ bytes: text });
  }

  #closeBlock(): void {
    const block = this.#open;
    this.#open = undefined;
    if (block !== undefined) this.#append({ bytes: block.bytes, lines: block.count });
  }

  #append(line: LogLine): void {
    const written = this.#lines.append(line, false);
    if (written === undefined) return;
    const room = (this.#room = this.#written(line, written));
    // No caller may be waiting for it.
    room.catch(() => undefined);
  }

  /** Callers no longer wait for these records, so after a failure the log gets them again. */
  async #written(line: LogLine, written: Promise<void>): Promise<void> {
    try {
      await written;
    } catch (error) {
      if (this.#closed) throw error;
      void this.#lines.append(line, false);
    } finally {
      this.#room = undefined;
    }
  }
}
