import type { ListMemory } from '../../catalog/records/version-reader.ts';
import type { MemoryBudget } from '../../format/memory/memory-budget.ts';
import type { FragmentList } from '../../format/snapshot.ts';

/** Estimated bytes of a manifest or a list in memory per byte of its file. */
export const MEMORY_PER_BYTE = 4;

/** Lists in memory, as long as a manifest in memory names them. They are counted once. */
export class SharedLists implements ListMemory {
  readonly #lists = new Map<string, { readonly list: FragmentList; users: number }>();
  readonly #budget: MemoryBudget;
  /** Estimated bytes in memory. */
  bytes = 0;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  get(key: string): FragmentList | undefined {
    return this.#lists.get(key)?.list;
  }

  /** Does nothing: a list is remembered with the manifest that names it. */
  set(): void {}

  hold(key: string, list: FragmentList): void {
    const held = this.#lists.get(key) ?? { list, users: 0 };
    if (held.users++ > 0) return;
    this.#lists.set(key, held);
    this.#count(list.bytes);
  }

  release(key: string): void {
    const held = this.#lists.get(key);
    if (held === undefined || --held.users > 0) return;
    this.#lists.delete(key);
    this.#count(-held.list.bytes);
  }

  #count(fileBytes: number): void {
    this.bytes += fileBytes * MEMORY_PER_BYTE;
    this.#budget.spend(fileBytes * MEMORY_PER_BYTE);
  }
}
