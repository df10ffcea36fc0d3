import { setTimeout as sleep } from 'node:timers/promises';
import type { RandomAccess } from '../../../arrow/ipc/random-access.ts';
import { SEALED_PORTION, type FileSeal, type StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { openChecks } from '../../../arrow/sealed/sealed-file.ts';
import type { Storage } from '../../../storage/storage.ts';
import { bytesAccess, fileAccess } from '../../format/memory/random-access.ts';

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

/** A file that was read from end to end. */
interface FileReading {
  /** Whether the file has a seal. Without one nothing was read or compared. */
  readonly sealed: boolean;
  readonly bytes: number;
}

/**
 * Reads all portions of a file and compares them with its seal. No cache is used or filled.
 * @throws DamagedFile for the first part that does not match, an error that `isMissing` if there is
 * no such file.
 */
export async function verifyFile(
  storage: Storage,
  { path, seal }: StoredFile,
  options: PortionReadingOptions = {},
): Promise<FileReading> {
  if (seal === undefined) return { sealed: false, bytes: 0 };
  const object = await storage.open(path);
  try {
    const size = object.size();
    await comparePortions(fileAccess({ object, size, path }), { path, seal }, options);
    return { sealed: true, bytes: size };
  } finally {
    object.close();
  }
}

/** Compares all portions of a file that was read into memory. @throws DamagedFile */
export async function verifyBytes(bytes: Uint8Array, { path, seal }: StoredFile): Promise<void> {
  if (seal !== undefined) await comparePortions(bytesAccess(bytes), { path, seal }, {});
}

async function comparePortions(
  access: RandomAccess,
  stored: StoredFile & { readonly seal: FileSeal },
  { rate, signal }: PortionReadingOptions,
): Promise<void> {
  const { checks } = await openChecks(access, stored);
  for (let offset = 0; offset < checks.bytes; offset += READ_BYTES) {
    signal?.throwIfAborted();
    const length = Math.min(READ_BYTES, checks.bytes - offset);
    checks.compare(offset, [await access.read(offset, length)]);
    await rate?.after(length, signal);
  }
}
