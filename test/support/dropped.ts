import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Collected, CollectOptions } from '../../src/engine/upkeep/retention/collector.ts';
import type { TestEngine } from './engine.ts';

/** Collects what nothing needs, whatever its age. */
export async function collect(
  engine: TestEngine,
  options: Partial<CollectOptions> = {},
): Promise<Collected> {
  if (engine.upkeep === null) throw new Error('the engine is closed');
  // Times of files are coarse: what was written a moment ago is not old yet.
  await new Promise((resolve) => setTimeout(resolve, 150));
  return engine.upkeep.collector.collect({ retentionMillis: 0, olderThanMillis: 0, ...options });
}

/** The paths of all files of tables, in the folder of a data folder, in order. */
export async function tableFiles(data: string, inner = 'tables'): Promise<readonly string[]> {
  const root = join(data, inner);
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted();
}
