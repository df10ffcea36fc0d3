import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainHead } from '../chain/hash-chain.ts';
import { checkpointText } from './checkpoint.ts';
import type { CheckpointPlace } from './places.ts';
import type { SigningKey } from '../signing/keys.ts';

/** Heads within this interval share a checkpoint, in milliseconds. */
const PAUSE_MILLIS = 50;
/** Retry interval of a failed place, in milliseconds. */
const RETRY_MILLIS = 1000;

export interface PublisherOptions {
  readonly instance: string;
  readonly key: SigningKey;
  readonly places: readonly CheckpointPlace[];
  /** Digest of the statement that the instance made at its start; none when absent. */
  readonly start?: string;
  /** Called with the reason when a place starts to fail. */
  readonly failed: (place: string, error: unknown) => void;
}

/**
 * Signs how far a chain has come and keeps that in other places. Nobody waits
 * for it: the newest head is kept soon after it is known, again and again until
 * every place has it.
 */
export class CheckpointPublisher {
  readonly #options: PublisherOptions;
  readonly #refusing = new Set<string>();
  #head: ChainHead | undefined;
  #working: Promise<void> | undefined;
  #closing = new AbortController();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Why a place has no checkpoint of now; undefined when all do. */
  fault(): string | undefined {
    const [place] = this.#refusing;
    return place === undefined ? undefined : `${place} takes no checkpoints of the audit log`;
  }

  /** The chain has come so far. */
  advance(head: ChainHead): void {
    this.#head = head;
    this.#working ??= this.#work();
  }

  /** Keeps the last head, once, and ends. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    for (let head = this.#head; head !== undefined; head = this.#head) {
      await this.#keep(head);
      if (this.#head === head && this.#refusing.size === 0) this.#head = undefined;
      if (this.#closing.signal.aborted && this.#refusing.size > 0) break;
      await this.#pause();
    }
    this.#working = undefined;
  }

  async #keep(head: ChainHead): Promise<void> {
    const { instance, key, places, start = '' } = this.#options;
    const text = checkpointText(key, instance, head, { start, recovered: '' });
    await Promise.all(places.map((place) => this.#keepAt(place, text)));
  }

  async #keepAt(place: CheckpointPlace, text: string): Promise<void> {
    try {
      await place.write(this.#options.instance, text);
      this.#refusing.delete(place.name);
    } catch (error) {
      if (!this.#refusing.has(place.name)) this.#options.failed(place.name, error);
      this.#refusing.add(place.name);
    }
  }

  async #pause(): Promise<void> {
    const millis = this.#refusing.size > 0 ? RETRY_MILLIS : PAUSE_MILLIS;
    const { signal } = this.#closing;
    await sleep(millis, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
