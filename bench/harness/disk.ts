import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PIECE = Buffer.alloc(16 * 2 ** 20, 'arrowgate');

/**
 * Writes so many bytes to the disk and removes them: a disk that is handed out
 * as it is used, as those of virtual machines are, writes its first bytes slowly.
 */
export async function warmDisk(bytes: number): Promise<void> {
  if (bytes === 0) return;
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-warm-'));
  const file = await open(join(folder, 'bytes'), 'wx');
  try {
    for (let written = 0; written < bytes; written += PIECE.byteLength) {
      await file.write(PIECE, 0, Math.min(PIECE.byteLength, bytes - written));
    }
    await file.sync();
  } finally {
    await file.close();
    await rm(folder, { recursive: true });
  }
}
