import { setTimeout as sleep } from 'node:timers/promises';
import type { RandomAccess } from '../../../arrow/ipc/random-access.ts';
import { SEALED_PORTION, type StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { openChecks } from '../../../arrow/sealed/sealed-file.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { PortionChecks } from '../../../arrow/sealed/portion-checks.ts';
import { readDetachedBlock } from '../../format/memory/detached-block.ts';
import { bytesAccess, readingFile } from '../../format/memory/random-access.ts';

/** Number of bytes that are read at once. */
const READ_BYTES = 16 * SEALED_PORTION;

/** A reader may fall this far behind its rate and catch up, in ms: timers are late. */
const LAG_MILLIS = 100;

/** Bounds how many bytes all readers of one rate read in a second, on average. */
export class ReadingRate {
  readonly #millisPerByte: number;
  /** When the next bytes may be read. */
  #due = 0;

  /** @param bytesPerSecond 0 for no limit. */
  constructor(bytesPerSecond: number) {
    this.#millisPerByte = bytesPerSecond === 0 ? 0 : 1000 / bytesPerSecond;
  }

  /** Waits after a read. @throws the reason of the signal when it ends the wait. */
  async after(bytes: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#millisPerByte === 0) return;
    const now = performance.now();
    this.#due = Math.max(this.#due, now - LAG_MILLIS) + bytes * this.#millisPerByte;
    if (this.#due - now >= 1) await sleep(this.#due - now, null, { signal });
  }
}

interface PortionReadingOptions {
  /** Unlimited if absent. */
  readonly rate?: ReadingRate;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads all portions of a file and compares them with its seal. No cache is used or filled.
 * @returns Its number of bytes.
 * @throws DamagedFile for the first part that does not match, an error that `isMissing` if there is
 * no such file.
 */
export async function verifyFile(
  storage: Storage,
  stored: StoredFile,
  options: PortionReadingOptions = {},
): Promise<number> {
  const block = await readDetachedBlock(storage, stored);
  return readingFile(storage, stored.path, async (access) => {
    const { checks } = await openChecks(access, stored, block);
    await comparePortions(access, checks, options);
    return access.size;
  });
}

/** Compares all portions of a file that was read into memory. @throws DamagedFile */
export async function verifyBytes(
  storage: Storage,
  bytes: Uint8Array,
  stored: StoredFile,
): Promise<void> {
  const block = await readDetachedBlock(storage, stored);
  const access = bytesAccess(bytes);
  const { checks } = await openChecks(access, stored, block);
  await comparePortions(access, checks, {});
}

async function comparePortions(
  access: RandomAccess,
  checks: PortionChecks,
  { rate, signal }: PortionReadingOptions,
): Promise<void> {
  for (let offset = 0; offset < checks.bytes; offset += READ_BYTES) {
    signal?.throwIfAborted();
    const length = Math.min(READ_BYTES, checks.bytes - offset);
    checks.compare(offset, [await access.read(offset, length)]);
    await rate?.after(length, signal);
  }
}
