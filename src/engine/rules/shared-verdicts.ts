import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookVerdict } from '../../rules/webhook.ts';
import type { Notes } from '../../store/notes.ts';

/** The verdict of another process is looked for so often, in milliseconds. */
const PAUSE_MILLIS = 20;
/** How long a process may take beside what its webhook may take, in milliseconds. */
const SLACK_MILLIS = 2000;

/** What is written down of a commit that a webhook is asked about. */
interface Asked {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** Null until it is there. */
  readonly verdict: WebhookVerdict | null;
}

/**
 * What webhooks said of the commits of the last minute, for all processes of a
 * catalog: of several that are sent the same commit one asks, and only if it can
 * write that down first. Where it ends before the verdict is there nobody asks
 * again, since nobody knows whether the webhook was asked.
 */
export class SharedVerdicts {
  readonly #notes: Notes;
  readonly #keepMillis: number;
  readonly #clock: () => number;

  constructor(notes: Notes, keepMillis: number, clock: () => number) {
    this.#notes = notes;
    this.#keepMillis = keepMillis;
    this.#clock = clock;
    void this.#sweep().catch(() => undefined);
  }

  /**
   * The verdict on a commit. Nothing is thrown.
   * @param key Tells the commit, its rule and its webhook from others.
   * @param patience How long a webhook may take, in milliseconds.
   */
  async ask(
    key: string,
    patience: number,
    judge: () => Promise<WebhookVerdict>,
  ): Promise<WebhookVerdict> {
    const name = createHash('sha256').update(key).digest('hex');
    try {
      const known = await this.#claimed(name, patience);
      if (known !== undefined) return known;
    } catch {
      return failed('it cannot be known whether it was asked already');
    }
    const verdict = await judge();
    // Without it other processes wait, and then do not ask.
    await this.#notes.keep(name, this.#text(verdict)).catch(() => undefined);
    void this.#removeLater(name);
    return verdict;
  }

  /** Undefined when it is this process that is to ask. */
  async #claimed(name: string, patience: number): Promise<WebhookVerdict | undefined> {
    for (;;) {
      if (await this.#notes.claim(name, this.#text(null))) return undefined;
      const asked = askedOf(await this.#notes.get(name));
      const age = this.#clock() - asked.at;
      if (age >= this.#keepMillis) await this.#notes.remove(name);
      else if (asked.verdict !== null) return asked.verdict;
      else if (age > patience + SLACK_MILLIS) {
        return failed('another process asked it and did not say what it answered');
      } else await sleep(PAUSE_MILLIS);
    }
  }

  #text(verdict: WebhookVerdict | null): string {
    return JSON.stringify({ at: this.#clock(), verdict } satisfies Asked);
  }

  /** Removes what processes have left that ended before they could. */
  async #sweep(): Promise<void> {
    for (const { name, text } of await this.#notes.all()) {
      if (this.#clock() - askedOf(text).at >= 2 * this.#keepMillis) await this.#notes.remove(name);
    }
  }

  async #removeLater(name: string): Promise<void> {
    await sleep(this.#keepMillis, undefined, { ref: false });
    await this.#notes.remove(name).catch(() => undefined);
  }
}

function failed(why: string): WebhookVerdict {
  return { kind: 'failed', why };
}

/** One that was removed meanwhile, or cannot be read, is as old as can be. */
function askedOf(text: string | undefined): Asked {
  if (text === undefined) return { at: -Infinity, verdict: null };
  return JSON.parse(text) as Asked;
}
