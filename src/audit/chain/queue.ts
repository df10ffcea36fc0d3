import type { LineLog } from '../../storage/line-log.ts';
import { recordText } from '../record/encoding.ts';
import type { AuditRecord } from '../record/record.ts';
import type { BlockMemory, RecordBlock } from './block.ts';

/** Maximum delay before the log gets a record that no caller awaits, in ms. */
const DELAY_MILLIS = 20;

/**
 * Hands records to a log in order: a record that its caller awaits at once, the others
 * in blocks.
 */
export class RecordQueue {
  readonly #lines: LineLog;
  readonly #memory: BlockMemory;
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
    const text = recordText(record);
    if (durable || this.#closed) return this.#alone(text, durable);
    if (this.#open?.add(record, text) === true) return this.#room;
    this.#handOver();
    const block = this.#memory.take();
    if (!block.add(record, text)) {
      this.#memory.free(block.bytes);
      return this.#alone(text, false);
    }
    this.#open = block;
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

  #alone(text: string, durable: boolean): Promise<void> | undefined {
    this.#handOver();
    return this.#lines.append({ bytes: text }, durable);
  }

  #handOver(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const block = this.#open;
    if (block === undefined) return;
    this.#open = undefined;
    const line = { bytes: block.bytes, lines: block.count };
    const written = this.#lines.append(line, false);
    if (written === undefined) return;
    const room = (this.#room = this.#written(line, written));
    // No caller may be waiting for it.
    room.catch(() => undefined);
  }

  /** Callers no longer wait for these records, so after a failure the log gets them again. */
  async #written(line: Parameters<LineLog['append']>[0], written: Promise<void>): Promise<void> {
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
