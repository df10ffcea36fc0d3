import { join } from 'node:path';
import { crc32 } from '@node-rs/crc32';
import { isMissing } from '../../storage/storage-error.ts';
import type { AttemptsNote } from '../chain/open-attempts.ts';
import { logStorage, readBeside } from '../chain/log-files.ts';

/** Number of records after which the note is written again. */
const NOTED_RECORDS = 20_000n;

/**
 * Writes the attempts without an outcome of this process from time to time, so that the next start
 * reads only the records after the last note. Nobody waits for it.
 */
export class AttemptsNotes {
  readonly #path: string;
  #noted = 0n;
  #writing: Promise<void> | undefined;

  /** @param processes `<data>/private/audit-processes`. */
  constructor(processes: string, instance: string) {
    this.#path = notePath(processes, instance);
  }

  /**
   * Writes a note if enough records became durable since the last one.
   * @param count Number of durable records.
   */
  advance(count: bigint, note: () => AttemptsNote | undefined): void {
    if (count - this.#noted < NOTED_RECORDS || this.#writing !== undefined) return;
    this.#noted = count;
    const current = note();
    if (current === undefined) return;
    // Without a note more of the log is read.
    const written = logStorage.note(this.#path, noteBytes(current)).catch(() => undefined);
    this.#writing = written.finally(() => {
      this.#writing = undefined;
    });
  }

  async close(): Promise<void> {
    await this.#writing;
  }
}

/** The newest note of an instance; undefined if there is none, or it is damaged. */
export async function readAttemptsNote(
  processes: string,
  instance: string,
): Promise<AttemptsNote | undefined> {
  try {
    return noteIn(await readBeside(notePath(processes, instance)));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function notePath(processes: string, instance: string): string {
  return join(processes, `${instance}.open`);
}

/** A line with the checksum of the next one; then the count, and each decision with its number. */
function noteBytes({ count, open }: AttemptsNote): Buffer {
  const attempts = [...open].map(([decision, sequence]) => `${decision} ${sequence}`);
  const text = [String(count), ...attempts].join(',');
  return Buffer.from(`${crc32(text)}\n${text}\n`);
}

function noteIn(bytes: string): AttemptsNote | undefined {
  const [checksum, text] = bytes.split('\n');
  if (text === undefined || checksum !== String(crc32(text))) return undefined;
  const [count, ...attempts] = text.split(',');
  const open = attempts.map((attempt): readonly [string, bigint] => {
    const [decision, sequence] = attempt.split(' ');
    return [decision!, BigInt(sequence!)];
  });
  return { count: BigInt(count!), open: new Map(open) };
}
