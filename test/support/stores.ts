import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import type { Store } from '../../src/store/store.ts';
import { MemoryStore } from './memory-store.ts';

export const storeKinds = ['memory', 'embedded'] as const;

/** Runs a test on a store of its own, and removes it. */
export async function withStore(
  kind: (typeof storeKinds)[number],
  run: (store: Store) => Promise<void>,
): Promise<void> {
  if (kind === 'memory') return run(new MemoryStore());
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-store-'));
  const store = await openEmbeddedStore(folder);
  try {
    await run(store);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The keys that begin so. */
export async function keysOf(store: Store, start: string): Promise<readonly string[]> {
  const entries = await store.range({ start, end: `${start}\u{10ffff}`, limit: 100_000 });
  return entries.map((entry) => entry.key);
}
