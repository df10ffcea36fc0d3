import { randomBytes } from 'node:crypto';
import { requireFiles } from '../../../storage/open-object.ts';
import type { Storage } from '../../../storage/storage.ts';
import { LineLog } from '../../../storage/line-log.ts';
import { journalFileName } from './journal-files.ts';
import { isOfObjects } from './journal-place.ts';
import { ObjectLog, type JournalLog } from './object-log.ts';

/** A file without a new line for this long is closed: its process begins another. In ms. */
export const IDLE_MILLIS = 60_000;

const ROTATE_BYTES = 64 * 2 ** 20;

/**
 * Opens a log of one process, which begins files of its own.
 * @param rotateBytes A file that is as large gets no further line.
 */
export function openJournalLog(
  storage: Storage,
  folder: string,
  rotateBytes: number = ROTATE_BYTES,
): JournalLog {
  const instance = randomBytes(4).toString('hex');
  if (isOfObjects(storage, folder)) return new ObjectLog(storage, folder, instance);
  const log = new LineLog({
    folder: requireFiles(storage).pathOf(folder),
    name: (number, first) => journalFileName({ first: first ?? 0n, instance, number }),
    mode: 0o666,
    rotateBytes,
    idleMillis: IDLE_MILLIS,
  });
  return {
    append: ({ sequence, bytes }) => log.append({ order: sequence, bytes }, true),
    get fault() {
      return log.fault;
    },
    close: () => log.close(),
  };
}
