import type { Check, CommitResult, Store, Write } from '../../src/store/store.ts';

/**
 * A store by which a process stops right after a commit has taken effect, as if it
 * were killed there: once it is armed, whoever commits hears no more of it.
 */
export interface StoppingStore {
  readonly store: Store;
  /** Resolves when the next commit has taken effect. */
  arm(): Promise<void>;
  /** Lets those go who wait: their commits reject. */
  release(): void;
}

export function stoppingStore(inner: Store): StoppingStore {
  let reached: (() => void) | undefined;
  const waiting: (() => void)[] = [];
  const commit = async (
    checks: readonly Check[],
    writes: readonly Write[],
  ): Promise<CommitResult> => {
    const result = await inner.commit(checks, writes);
    if (reached === undefined || result.kind !== 'committed') return result;
    reached();
    return new Promise((_, reject) => waiting.push(() => reject(new Error('stopped'))));
  };
  const store = new Proxy(inner, {
    get: (target, name) => {
      if (name === 'commit') return commit;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    store,
    arm: () => new Promise((resolve) => (reached = resolve)),
    release: () => waiting.splice(0).forEach((go) => go()),
  };
}
