import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookVerdict } from '../../rules/webhook.ts';
import type { Notes } from '../../store/notes.ts';

/** Poll interval for the verdict of another process, in ms. */
const PAUSE_MILLIS = 20;
/** How long a process may take beside what its webhook may take, in milliseconds. */
export const VERDICT_SLACK_MILLIS = 2000;

/** Record of a webhook request for a commit. */
interface VerdictNote {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** Null while pending; `none` if no further request may be made. */
  readonly verdict: WebhookVerdict | 'none' | null;
}

/**
 * Verdicts of webhooks on the commits of the last minute, shared by all processes of a catalog. If several
 * processes get the same commit, one calls the webhook, and only after its claim is written. If that
 * process ends before the verdict, nobody calls again, since the webhook may have been called.
 *
 * Time is divided into periods of the lifetime of a verdict; in each a commit has a name of its own. A name
 * is claimed once: the first caller of a period closes the name of the period before, or finds a claim
 * there. So nothing is removed that others still read. Clocks may differ by less than a period.
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
    let claimed: string | WebhookVerdict;
    try {
      claimed = await this.#claimed(key, patience);
    } catch {
      return failed('it is unknown whether it was called already');
    }
    if (typeof claimed !== 'string') return claimed;
    const verdict = await judge();
    // Without it other processes wait, and then do not ask.
    await this.#notes.keep(claimed, this.#text(verdict)).catch(() => undefined);
    return verdict;
  }

  /** The name that this process is to ask under; the verdict where another one did. */
  async #claimed(key: string, patience: number): Promise<string | WebhookVerdict> {
    for (let stretch = Math.floor(this.#clock() / this.#keepMillis); ; stretch++) {
      const [past, present] = [nameOf(key, stretch - 1), nameOf(key, stretch)];
      const before = await this.#claim(past, 'none');
      if (before !== undefined && before.verdict !== 'none' && this.#counts(before)) {
        return this.#verdictIn(past, before, patience);
      }
      const now = await this.#claim(present, null);
      if (now === undefined) return present;
      if (now.verdict !== 'none') return this.#verdictIn(present, now, patience);
      // The others are in the next stretch already.
    }
  }

  /** Undefined when the name was free and now is this process's. */
  async #claim(name: string, verdict: VerdictNote['verdict']): Promise<VerdictNote | undefined> {
    for (;;) {
      if (await this.#notes.claim(name, this.#text(verdict))) {
        void this.#removeLater(name);
        return undefined;
      }
      const text = await this.#notes.get(name);
      if (text !== undefined) return JSON.parse(text) as VerdictNote;
    }
  }

  #counts({ at }: VerdictNote): boolean {
    return this.#clock() - at < this.#keepMillis;
  }

  async #verdictIn(name: string, first: VerdictNote, patience: number): Promise<WebhookVerdict> {
    for (let requested = first; ;) {
      const { at, verdict } = requested;
      if (verdict !== null && verdict !== 'none') return verdict;
      if (this.#clock() - at > patience + VERDICT_SLACK_MILLIS) {
        return failed('another process called it and did not report its answer');
      }
      await sleep(PAUSE_MILLIS);
      const text = await this.#notes.get(name);
      if (text !== undefined) requested = JSON.parse(text) as VerdictNote;
    }
  }

  #text(verdict: VerdictNote['verdict']): string {
    return JSON.stringify({ at: this.#clock(), verdict } satisfies VerdictNote);
  }

  /** A name is unused two periods later; one more allows for clocks that differ. */
  get #forgottenMillis(): number {
    return 3 * this.#keepMillis;
  }

  /** Removes what processes have left that ended before they could. */
  async #sweep(): Promise<void> {
    for (const { name, text } of await this.#notes.all()) {
      const { at } = JSON.parse(text) as VerdictNote;
      if (this.#clock() - at >= this.#forgottenMillis) await this.#notes.remove(name);
    }
  }

  async #removeLater(name: string): Promise<void> {
    await sleep(this.#forgottenMillis, undefined, { ref: false });
    await this.#notes.remove(name).catch(() => undefined);
  }
}

function nameOf(key: string, stretch: number): string {
  return createHash('sha256').update(`${stretch} ${key}`).digest('hex');
}

function failed(why: string): WebhookVerdict {
  return { kind: 'failed', why };
}
