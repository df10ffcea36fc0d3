import { setTimeout as pause } from 'node:timers/promises';
import { damageSentence, type StoreDamage } from '../../store/damage.ts';
import type { KeyCheck } from '../../store/key-digest.ts';
import type { Store } from '../../store/store.ts';

/** Damaged values that are remembered and reported. */
const REMEMBERED = 1000;
/** How long a start waits for the comparison of the keys, in ms. */
export const STORE_COMPARISON_MILLIS = 2000;
/** Pause before a comparison that failed is tried again, in ms. */
const AGAIN_MILLIS = 5000;

/** Receivers of what is found. */
export interface IntegrityEvents {
  /** Called once for each damaged value and each damaged group of keys. */
  readonly damaged: (damage: StoreDamage, sentence: string) => void;
}

/**
 * Damage of the store, as far as it is known: values by the reads that found them, keys by the
 * comparison with their digests, which runs at the start and whenever the store was replaced.
 */
export class StoreIntegrity {
  readonly #events: IntegrityEvents;
  readonly #stop = new AbortController();
  /** Sentences about damaged values and other parts. */
  readonly #others = new Set<string>();
  /** Sentences about damaged groups of keys, by group. */
  #keys = new Map<string, string>();
  #comparing: Promise<void> | undefined;
  #state: string | undefined;

  constructor(events: IntegrityEvents) {
    this.#events = events;
  }

  /** Takes damage that the store reports. */
  report(damage: StoreDamage): void {
    if (damage.kind !== 'keys') this.#reportOther(damage);
    else if (!this.#keys.has(damage.group)) this.#reportKeys(damage);
  }

  #reportOther(damage: Exclude<StoreDamage, { kind: 'keys' }>): void {
    const sentence = damageSentence(damage);
    if (this.#others.has(sentence) || this.#others.size >= REMEMBERED) return;
    this.#others.add(sentence);
    this.#events.damaged(damage, sentence);
  }

  #reportKeys(damage: Extract<StoreDamage, { kind: 'keys' }>): void {
    const sentence = damageSentence(damage);
    this.#keys.set(damage.group, sentence);
    this.#events.damaged(damage, sentence);
  }

  /** What is damaged, or that the keys are not compared yet; undefined if nothing is known. */
  fault(): string | undefined {
    const damages = [...this.#keys.values()];
    const [first] = this.#others;
    if (first !== undefined) damages.push(first);
    if (this.#others.size > 1) damages.push(`${this.#others.size - 1} more values`);
    return damages.length > 0 ? damages.join('; ') : this.#state;
  }

  /**
   * Compares all keys in the background, again after a failure. Resolves when they are compared, but
   * after two seconds at the latest.
   */
  async compare(store: Store): Promise<void> {
    if (store.checkKeys === undefined) return;
    this.#comparing ??= this.#compareAll(store).finally(() => {
      this.#comparing = undefined;
    });
    const patience = new AbortController();
    const late = pause(STORE_COMPARISON_MILLIS, undefined, { signal: patience.signal }).catch(
      () => undefined,
    );
    await Promise.race([this.#comparing, late]);
    patience.abort();
  }

  async #compareAll(store: Store): Promise<void> {
    this.#state = 'the keys of the store are being compared with their digests';
    while (!this.#stop.signal.aborted) {
      const check = await store.checkKeys?.().catch((error: unknown) => this.#failed(error));
      if (check !== undefined) return this.#compared(check);
      await pause(AGAIN_MILLIS, undefined, { signal: this.#stop.signal, ref: false }).catch(
        () => undefined,
      );
    }
  }

  #compared(check: KeyCheck): void {
    this.#state = undefined;
    const damaged = new Set(check.damaged.map(({ group }) => group));
    this.#keys = new Map([...this.#keys].filter(([group]) => damaged.has(group)));
  }

  #failed(error: unknown): undefined {
    const why = error instanceof Error ? error.message : String(error);
    this.#state = `the keys of the store could not be compared with their digests: ${why}`;
  }

  /** Ends the comparison. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#comparing;
  }
}
