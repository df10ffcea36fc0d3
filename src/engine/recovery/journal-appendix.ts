import { randomBytes } from 'node:crypto';
import { LineLog } from '../../store/line-log.ts';
import type { Change } from '../../store/store.ts';
import { encodeChange } from '../catalog/journal-line.ts';
import { journalFileName } from '../catalog/journal-reader.ts';

/** Writes a change that no store has yet at the end of a journal, durably. */
export async function appendToJournal(folder: string, change: Change): Promise<void> {
  const instance = randomBytes(4).toString('hex');
  const log = new LineLog({
    folder,
    name: (number, first) => journalFileName(first ?? 0n, instance, number),
    mode: 0o666,
    rotateBytes: Number.MAX_SAFE_INTEGER,
  });
  await log.append({ order: change.sequence, bytes: encodeChange(change) }, true);
  await log.close();
}
