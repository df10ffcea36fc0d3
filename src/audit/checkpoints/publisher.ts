import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ChainHead } from '../chain/hash-chain.ts';
import { checkpointText } from './checkpoint.ts';
import type { CheckpointPlace } from './places.ts';
import type { SigningKey } from '../signing/keys.ts';

/** Interval in which heads share a checkpoint, in ms. */
const PAUSE_MILLIS = 50;
/** Retry interval of a failed place, in ms. */
const RETRY_MILLIS = 1000;

export interface PublisherOptions {
  readonly instance: string;
  readonly key: SigningKey;
  readonly places: readonly CheckpointPlace[];
  /** Digest of the instance's start statement, if there is one. */
  readonly start?: string;
  /** Called with the reason when a place starts to fail. */
  readonly failed: (place: string, error: unknown) => void;
}

/**
 * Signs the newest durable head of a chain and writes the checkpoint to its places, with
 * retries until every place has it. Requests do not wait for it.
 */
export class CheckpointPublisher {
  readonly #options: PublisherOptions;
  readonly #failing = new Set<string>();
  #head: ChainHead | undefined;
  #working: Promise<void> | undefined;
  #closing = new AbortController();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Why a place lacks the newest checkpoint; undefined if none does. */
  fault(): string | undefined {
    const [place] = this.#failing;
    return place === undefined ? undefined : `${place} takes no checkpoints of the audit log`;
  }

  /** Sets the newest durable head. */
  advance(head: ChainHead): void {
    this.#head = head;
    this.#working ??= this.#work();
  }

  /** Publishes the last head, without retries, and stops. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    // Requests that wait for this head go on before it is signed.
    await nextTurn();
    for (let head = this.#head; head !== undefined; head = this.#head) {
      await this.#publish(head);
      if (this.#head === head && this.#failing.size === 0) this.#head = undefined;
      if (this.#closing.signal.aborted && this.#failing.size > 0) break;
      await this.#pause();
    }
    this.#working = undefined;
  }

  async #publish(head: ChainHead): Promise<void> {
    const { instance, key, places, start = '' } = this.#options;
    const text = checkpointText(key, instance, head, { start, recovered: '' });
    await Promise.all(places.map((place) => this.#writeTo(place, text)));
  }

  async #writeTo(place: CheckpointPlace, text: string): Promise<void> {
    try {
      await place.write(this.#options.instance, text);
      this.#failing.delete(place.name);
    } catch (error) {
      if (!this.#failing.has(place.name)) this.#options.failed(place.name, error);
      this.#failing.add(place.name);
    }
  }

  async #pause(): Promise<void> {
    const millis = this.#failing.size > 0 ? RETRY_MILLIS : PAUSE_MILLIS;
    const { signal } = this.#closing;
    await sleep(millis, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
