import { StoreError } from './store-error.ts';
import type { Store } from './store.ts';

/** A store for reading. @throws StoreError failed from every method that writes */
export function readingStore(store: Store): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range) => store.range(range),
    watch: (seen) => store.watch?.(seen),
    changes: (limit) => store.changes(limit),
    sequence: () => store.sequence(),
    guard: (look) => store.guard((view) => look(readingStore(view))),
    weakness: () => store.weakness(),
    close: () => store.close(),
    commit: refuse,
    forget: refuse,
    restore: refuse,
    replay: refuse,
  };
}

export function emptyStore(): Store {
  return {
    get: async () => undefined,
    getMany: async (keys) => keys.map(() => undefined),
    range: async () => [],
    changes: async () => [],
    sequence: async () => 0n,
    guard: () => undefined,
    weakness: async () => undefined,
    close: async () => undefined,
    commit: refuse,
    forget: refuse,
    restore: refuse,
    replay: refuse,
  };
}

async function refuse(): Promise<never> {
  throw new StoreError('failed', 'the store was opened for reading, and nothing is written to it');
}
