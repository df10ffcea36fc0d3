import { randomUUID } from 'node:crypto';
import { DamagedFile } from '../../../arrow/sealed/file-seal.ts';
import { parseCanonicalPath } from '../../../protocol/identifier.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import type { Notes } from '../../../store/notes.ts';
import type { TableCursor, Verifier } from './verifier.ts';

/** How often a gateway looks whether it is its turn, and saves how far it got, in ms. */
const INTERVAL_MILLIS = 5000;
/** Time after which a note that does not change is one of a gateway that ended, in ms. */
const SILENT_MILLIS = 30_000;
/** The name of the note. */
const NOTE = 'scrub';

export interface ScrubOptions {
  /** Null while the catalog cannot be written. */
  readonly verifier: () => Pick<Verifier, 'scrub'> | null;
  /** Opens the notes that all gateways of the catalog share. */
  readonly open: () => Promise<Notes>;
  readonly bytesPerSecond: number;
  /** Time from the end of a pass over all files to the begin of the next one, in ms. */
  readonly periodMillis: number;
  readonly damaged: (file: DamagedFile) => void;
  /** Called when a file cannot be read, or a pass cannot go on. */
  readonly failed: (error: unknown) => void;
}

/** How far the gateways of a catalog got. */
interface ScrubState {
  /** The gateway that reads; null if none does. */
  readonly owner: string | null;
  /** Grows with each note of the owner. */
  readonly count: number;
  /** The table that is being read: a canonical path or `dropped`; null between two passes. */
  readonly cursor: string | null;
  /** When the last pass ended, in milliseconds since 1970; 0 if none did. */
  readonly finishedMillis: number;
}

const NEW: ScrubState = { owner: null, count: 0, cursor: null, finishedMillis: 0 };

/**
 * Reads all files of the catalog at a low rate, again and again, and compares them with their
 * seals. One gateway reads at a time: a note beside the store names it, and has the table to
 * continue with. Two that read at once, after a pause of one, only read more than one would.
 */
export class BackgroundScrub {
  readonly #options: ScrubOptions;
  readonly #name: string = randomUUID();
  readonly #stopping = new AbortController();
  #notes: Notes | undefined;
  #state = NEW;
  /** The last note of another gateway, and when it was first seen, by the monotonic clock in ms. */
  #other = { text: '', sinceMillis: 0 };
  #pass: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ScrubOptions) {
    this.#options = options;
    this.#schedule();
  }

  /** When a gateway last ended a pass over all files, in milliseconds since 1970; 0 if none did. */
  get finishedMillis(): number {
    return this.#state.finishedMillis;
  }

  /** Ends the pass; another gateway, or the next start, continues with the same table. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    this.#pass?.stop.abort();
    await this.#running;
    // The last step may have begun one.
    this.#pass?.stop.abort();
    await this.#pass?.done;
    if (this.#state.owner === this.#name)
      await this.#save({ ...this.#state, owner: null }).catch(() => undefined);
    await this.#notes?.close();
  }

  #schedule(): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#step().then(() => this.#schedule());
    }, INTERVAL_MILLIS).unref();
  }

  async #step(): Promise<void> {
    try {
      const verifier = this.#options.verifier();
      if (verifier === null || !(await this.#isOurTurn())) return this.#pass?.stop.abort();
      await this.#save({ ...this.#state, owner: this.#name, count: this.#state.count + 1 });
      if (this.#pass === undefined && this.#isDue()) this.#begin(verifier);
    } catch {
      // The part of the store reports that the notes cannot be reached.
    }
  }

  #isDue(): boolean {
    const { cursor, finishedMillis } = this.#state;
    return cursor !== null || Date.now() - finishedMillis >= this.#options.periodMillis;
  }

  /** Whether this gateway reads, or the one that did is gone. */
  async #isOurTurn(): Promise<boolean> {
    this.#notes ??= await this.#options.open();
    const text = await this.#notes.get(NOTE);
    const found = text === undefined ? NEW : stateIn(text);
    if (found.owner === this.#name) return true;
    // The state of this gateway is out of date as soon as another one reads.
    this.#state = found;
    if (found.owner === null) return true;
    const now = performance.now();
    if (text !== this.#other.text) this.#other = { text: text ?? '', sinceMillis: now };
    return now - this.#other.sinceMillis >= SILENT_MILLIS;
  }

  async #save(state: ScrubState): Promise<void> {
    this.#state = state;
    await this.#notes?.keep(NOTE, JSON.stringify(state));
  }

  #begin(verifier: Pick<Verifier, 'scrub'>): void {
    const stop = new AbortController();
    const done = this.#read(verifier, stop.signal).finally(() => {
      this.#pass = undefined;
    });
    this.#pass = { stop, done };
  }

  /** Never rejects. */
  async #read(verifier: Pick<Verifier, 'scrub'>, signal: AbortSignal): Promise<void> {
    const { bytesPerSecond, damaged, failed } = this.#options;
    try {
      const from = cursorIn(this.#state.cursor);
      for await (const { cursor, error } of verifier.scrub({ bytesPerSecond, signal }, from)) {
        this.#state = { ...this.#state, cursor };
        if (error instanceof DamagedFile) damaged(error);
        // Files of a table that is being removed go before its versions.
        else if (error !== undefined && !isMissing(error)) failed(error);
      }
      this.#state = { ...this.#state, cursor: null, finishedMillis: Date.now() };
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
  }
}

function cursorIn(cursor: string | null): TableCursor {
  return cursor === 'dropped' ? cursor : parseCanonicalPath(cursor ?? '/');
}

/** A note that cannot be read begins anew. */
function stateIn(text: string): ScrubState {
  try {
    const { owner, count, cursor, finishedMillis } = JSON.parse(text) as Partial<ScrubState>;
    return {
      owner: typeof owner === 'string' ? owner : null,
      count: Number.isSafeInteger(count) ? Number(count) : 0,
      cursor: cursor === 'dropped' || cursor?.startsWith('/') === true ? cursor : null,
      finishedMillis: Number.isSafeInteger(finishedMillis) ? Number(finishedMillis) : 0,
    };
  } catch {
    return NEW;
  }
}
