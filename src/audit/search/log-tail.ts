import { isMissing } from '../../storage/storage-error.ts';
import { readUpTo } from '../../storage/open-object.ts';
import { openLogFile, readableInstancesOf } from '../chain/log-files.ts';
import { partsOfInstance, type LogPart } from '../segments/log-part.ts';
import { decodeRecord } from '../record/decoding.ts';
import type { LoggedRecord } from '../record/record.ts';
import { recordsOfSegment } from '../segments/segment-file.ts';

const NEWLINE = 0x0a;

/** Reads the records that processes append to an audit folder. */
export class LogTail {
  readonly #folder: string;
  /** Bytes of each file of lines that were read, up to the end of a line. */
  readonly #taken = new Map<string, number>();
  /** Sequence number of the last record of each instance that was read. */
  readonly #last = new Map<string, bigint>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads the records since the last call, instance by instance; the first call reads all. */
  async *take(): AsyncGenerator<LoggedRecord> {
    for (const instance of await readableInstancesOf(this.#folder)) {
      for (const part of await partsOfInstance(this.#folder, instance)) {
        for await (const record of this.#added(part)) {
          if (record.sequence <= (this.#last.get(instance) ?? 0n)) continue;
          this.#last.set(instance, record.sequence);
          yield record;
        }
      }
    }
  }

  /** Skips all existing records. */
  async skip(): Promise<void> {
    for (const instance of await readableInstancesOf(this.#folder)) {
      for (const { file, seal } of await partsOfInstance(this.#folder, instance)) {
        if (seal !== undefined) this.#last.set(instance, seal.after.count);
        else await this.#skipLines(file.path, instance);
      }
    }
  }

  /** Whether a record was skipped or read. */
  has({ instance, sequence }: LoggedRecord): boolean {
    return sequence <= (this.#last.get(instance) ?? 0n);
  }

  async #skipLines(path: string, instance: string): Promise<void> {
    const bytes = await this.#whole(path);
    const from = bytes.lastIndexOf(NEWLINE, -2) + 1;
    if (bytes.length === 0) return;
    this.#last.set(instance, decodeRecord(bytes.toString('utf8', from, bytes.length - 1)).sequence);
  }

  async *#added({ instance, file, seal }: LogPart): AsyncGenerator<LoggedRecord> {
    if (file.kind === 'segment') {
      if (seal !== undefined && seal.after.count <= (this.#last.get(instance) ?? 0n)) return;
      yield* recordsOfSegment(file.path, seal?.portions);
      return;
    }
    const bytes = await this.#whole(file.path);
    for (const line of bytes.toString().split('\n').slice(0, -1)) yield decodeRecord(line);
  }

  /** Whole lines of a file that were not read yet. A file that was sealed meanwhile is read as a segment by the next call. */
  async #whole(path: string): Promise<Buffer> {
    const from = this.#taken.get(path) ?? 0;
    const bytes = await bytesFrom(path, from).catch((error: unknown) => {
      if (isMissing(error)) return Buffer.alloc(0);
      throw error;
    });
    const whole = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
    this.#taken.set(path, from + whole.length);
    return whole;
  }
}

async function bytesFrom(path: string, from: number): Promise<Buffer> {
  const file = openLogFile(path);
  try {
    const bytes = Buffer.alloc(Math.max(0, file.size() - from));
    return bytes.subarray(0, await readUpTo(file, bytes, from));
  } finally {
    file.close();
  }
}
