import type { MemoryStorage } from '../../../src/storage/memory-storage.ts';
import { ROOT } from './archived-log.ts';

/** All unsealed lines of an archive. */
export async function archivedLines(storage: MemoryStorage): Promise<string> {
  const texts: string[] = [];
  for await (const { path } of storage.tree(ROOT)) {
    if (path.endsWith('.jsonl')) texts.push((await storage.read(path)).toString());
  }
  return texts.join('');
}
